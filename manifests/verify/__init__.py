"""Whether a data set is what its manifest says."""
