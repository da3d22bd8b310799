"""The fuzzed reader of Icons-50.npy: every way in which numpy writes its dictionary, mutated."""

from __future__ import annotations

import io
import pickle
from collections.abc import Sequence
from typing import Any

import icons
import numpy as np
from target import Target

from corruptset.generate.sources.source import open_source


def saved(value: Any, protocol: int) -> bytes:
    """Return what numpy.save writes of an object, its pickle under another protocol."""
    out = io.BytesIO()
    np.lib.format.write_array_header_1_0(out, {"descr": "|O", "fortran_order": False, "shape": ()})
    whole = np.empty((), object)
    whole[()] = value
    return out.getvalue() + pickle.dumps(whole, protocol)


class Icons(Target):
    """``icons50:FILE``, in styles and in subtypes. Without numpy's own reader as an oracle: it would run what a
    mutation names.
    """

    def make(self) -> Sequence[bytes]:
        lists = icons.fields(12)
        arrays = {name: values if name == "image" else np.array(values) for name, values in lists.items()}
        objects = {name: values if name == "image" else np.array(values, object) for name, values in lists.items()}
        last = lists | {"image": np.ascontiguousarray(lists["image"].transpose(0, 2, 3, 1))}
        return [saved(value, protocol) for value in (lists, arrays, objects, last) for protocol in (2, 4, 5)]

    def try_one(self, data: bytes) -> None:
        path = self.put("Icons-50.npy", data)
        for groups in ("style", "subtype"):
            source = open_source(f"icons50:{path}", groups=groups)
            names = {c.index for c in source.classes}
            assert len(source.samples) > 0
            for sample in source.samples:
                image = source.load(sample).image
                rows = (image.tobytes(), image.transpose(2, 0, 1).tobytes())
                # a row is a stretch of the file, as bytes or as text whose letters they are
                assert any(row in data or row.decode("latin-1").encode() in data for row in rows)
                assert sample.label in names
                assert sample.group
                assert sample.group.encode().decode().isprintable() or not sample.group.isascii()
