"""The page of results: models side by side on one data set."""
