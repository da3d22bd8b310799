"""What a build is, worked out before anything is written."""
