"""Reading and writing files: atomic writes, locks, JSON Lines, object stores."""
