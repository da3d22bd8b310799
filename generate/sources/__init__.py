"""Sources of images and labels."""
