"""Views: a data set in the exact layout that a third-party loader opens."""
