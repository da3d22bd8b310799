"""Models side by side: the papers' tables and plots of several scores files."""
