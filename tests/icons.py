"""A replacement for Icons-50 with the published structure and random pixels."""

import numpy as np
from PIL import Image

STYLES = ("microsoft", "apple", "google", "samsung", "facebook", "emoji-one")
SUBTYPES = ("shark", "whale", "rabbit_face", "victory_hand_type_3", "duck", "cat_face", "old_key")


def icon_fields(count=42, classes=3):
    """Return the contents of the published dictionary, as lists. Every style has every class."""
    rng = np.random.default_rng(50)
    rows = range(count)
    return {
        "class": [i // len(STYLES) % classes for i in rows],
        "style": [STYLES[i % len(STYLES)] for i in rows],
        "image": rng.integers(0, 256, (count, 3, 32, 32), np.uint8),
        "rendition": [str(i % 3) for i in rows],
        "subtype": [SUBTYPES[i % len(SUBTYPES)] for i in rows],
    }


def write_file(path, **changes):
    """Write Icons-50.npy, and return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    np.save(path, icon_fields() | changes, allow_pickle=True)
    return path


def write_folders(root, side=48):
    """Write the class folders and the additional files of the published archive, and return the folder."""
    rng = np.random.default_rng(51)
    for name in ("bird", "feline", "marine_animals"):
        (root / name).mkdir(parents=True)
        for i, style in enumerate(STYLES):
            pixels = rng.integers(0, 256, (side, side, 3), np.uint8)
            Image.fromarray(pixels).save(root / name / f"{style}_{i % 3}_{SUBTYPES[i]}.png")
    (root / "README.txt").write_text("icons")
    (root / ".DS_Store").write_bytes(b"\0")
    return root
