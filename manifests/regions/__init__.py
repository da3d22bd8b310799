"""Square regions of images: their positions and their pixels."""
