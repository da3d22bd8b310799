"""Pages that stand alone: one HTML file with everything in it, for data sets and for results."""
