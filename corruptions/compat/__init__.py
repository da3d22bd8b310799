"""Adapters that offer corruptions through the interfaces of imagecorruptions and albumentations."""
