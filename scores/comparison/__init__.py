"""Tables and plots like those in the papers that define the scores, made from the scores files of several models."""
