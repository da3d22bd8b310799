"""How sheets and plots look: colours and distances, as in page.css in light."""

from __future__ import annotations

Colour = tuple[int, int, int]
PAPER, INK, SOFT, LINE = "#ffffff", "#1a1c20", "#53585f", "#c9cdd3"
GAP = 8
"""Pixels between pictures."""
READABLE = 96
"""Pixels of a picture's longer side at least: smaller ones are enlarged by whole factors."""
LARGEST = 256
"""Pixels of a picture's longer side at most."""
