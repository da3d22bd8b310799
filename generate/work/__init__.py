"""The work on the parts of a build, in one process or in many."""
