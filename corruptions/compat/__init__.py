"""Other packages' ways of calling corruptions: the signatures of imagecorruptions, a transform of albumentations."""
