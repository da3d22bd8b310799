"""Read and write files: atomic writes, locks, JSON Lines, object stores."""
