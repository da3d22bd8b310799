"""The tables and plots of the papers, made from the scores files of several models."""
