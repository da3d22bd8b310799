"""From a manifest back to pixels: samples made again, repairs, whole data sets rebuilt, virtual ones."""
