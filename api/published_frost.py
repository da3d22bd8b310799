"""The frost textures of the published sets."""

from __future__ import annotations

from fractions import Fraction

PUBLISHED_FROST = {
    "sha256:57c1dc953d331a71c691761aa9b27711dae794231b774e39df16c08daa4a228b": Fraction(1, 5),  # frost1.png
    # frost2.png and frost3.png
    "sha256:efe5def9a31fa42c7d23a25153ed41c3fd9d180c9db97ad8b8677bb69ec7ebd6": Fraction(2, 5),
    "sha256:bc79830e710a4bc24ae6eebc7b7db0403fd78f1d8f667eff38cb29412a124edb": Fraction(1, 5),  # frost4.jpg
    "sha256:3b3f9f2e381715fc97f92942ae11e1b5538260be2aa34a0613b4e7515d7d2c6d": Fraction(1, 5),  # frost5.jpg
}
"""A mapping from the SHA-256 of a texture's pixels to the probability that the released generators draw it.

The digests are computed as in the `textures` of a manifest. The released generators never draw frost6.jpg.
"""
