"""The page of a build: index.html, on which one sees what it is, every set, and how to load it."""
