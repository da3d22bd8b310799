"""What a folder of corrupted images contains, compared with what its names promise."""
