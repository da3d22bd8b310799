"""Interfaces of other packages: the functions of imagecorruptions, and a transform for albumentations."""
