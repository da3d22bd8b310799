"""What people look at: pages that stand alone, and sheets of pictures."""
