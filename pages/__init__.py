"""What people look at: pages that stand alone, for data sets and for results, and sheets of pictures."""
