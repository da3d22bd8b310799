"""The containers in which a build stores images, and the writer that fills them."""
