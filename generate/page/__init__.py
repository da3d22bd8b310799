"""The page of a build, index.html, which describes the dataset and shows images of every set."""
