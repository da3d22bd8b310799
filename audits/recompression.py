"""Find images that were decoded and stored a second time with the same JPEG settings.

The header does not show this, because it states the same settings. The pixels show it if the pixels before the first
compression are known, so only sets whose pixels can be computed are tested.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .contents import Observed, SetContents
from .storage import StoredAs, apply_storage

_LEAST = 20
"""The minimum number of values that a second compression changes, so that a decision is possible."""
_EQUAL = 0.9
"""The minimum share of these values that must be as after a second compression."""


def stored_twice(observed: Observed, contents: SetContents, encodings: Sequence[StoredAs], textures: Any = None) -> int:
    """Return the number of images that were stored a second time, or 0 if the images of a set cannot be computed."""
    jpeg = [number for number, encoding in enumerate(encodings) if encoding.step is not None]
    if not contents.exact or not jpeg or (observed.own is None and contents.found is None):
        return 0
    if observed.own is not None:
        made = observed.own(observed.clean, observed.ids)
    else:
        assert contents.found is not None
        made = contents.found.images(observed.clean, observed.ids, textures=textures)
    count = 0
    for number in jpeg:
        step = encodings[number].step
        assert step is not None
        once = apply_storage(made[number : number + 1], (step,))
        twice = apply_storage(once, (step,))
        changed = once != twice
        if changed.sum() >= _LEAST and once.shape[1:] == observed.images.shape[1:]:
            count += bool(np.mean(observed.images[number : number + 1][changed] == twice[changed]) >= _EQUAL)
    return count
