"""The shape family: corruptions that move the image, draw over it or reduce it to lines."""
