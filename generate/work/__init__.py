"""Make the parts of a build, in one process or in several."""
