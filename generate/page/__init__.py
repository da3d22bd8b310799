"""The page of a build, index.html: what it is, every set, how to load it."""
