"""The steps that make a build safe to resume: locks, comparison with other builds, state, array jobs, final records."""
