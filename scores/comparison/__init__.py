"""The papers' tables and plots for the scores files of several models."""
