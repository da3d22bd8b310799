"""How bytes get to a disk and back."""
