"""Pack a dataset into archives, and unpack them."""
