"""The commit protocol: locks, what a build is, its state, and its end."""
