"""The commit protocol: the lock, what the build is, its state, and how it is finished."""
