"""The plan of a build, which is created before anything is written."""
