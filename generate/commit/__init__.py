"""The commit protocol of builds: locks, comparison of builds, state, array jobs and final records."""
