"""From a manifest back to pixels: samples, repairs, whole data sets and virtual ones."""
