"""Every field of a real build's manifest.json, edited one at a time: found at once, and mostly also if its hash is put
right.
"""

from __future__ import annotations

import hashlib
import json
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import layouts
import pytest

from corruptset.manifests.verify.ladder import verify_directory

UNDERIVABLE = {
    "environment", "excluded", "selection", "textures", "source.name", "source.license", "coupling", "scale",
    "encoding.quality",
    "encoding.optimize", "encoding.subsampling", "sets.metrics", "views", "recipe",
}  # fmt: skip
"""What follows from no other record: SHA256SUMS speaks for it, and for what shapes pixels, samples made again."""


@pytest.fixture(scope="module")
def built(shared: layouts.Shared) -> Path:
    sets = ["contrast/1", "brightness/4", "clean"]
    return shared.build(crops={"each": 1}, recipe={"encoding": "jpeg"}, metrics=2, format="both", sets=sets)


def leaves(value: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every value that is neither an object nor a list with something in it."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    empty = True
    for key, inner in items:
        empty = False
        yield from leaves(inner, (*above, key))
    if empty:
        yield above


def other(value: Any) -> Any:
    """Return a value of the same type that is not this one."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, float):
        return value + 0.125
    if isinstance(value, str):
        at = len(value) // 2
        return value[:at] + ("1" if value[at : at + 1] != "1" else "2") + value[at + 1 :]
    return {None: "x"}.get(value) if value is None else [*value, "x"] if isinstance(value, list) else {"x": 1}


def edited(manifest: dict[str, Any], path: tuple[Any, ...]) -> bytes:
    """Return the manifest's bytes with one value changed."""
    copy: Any = json.loads(json.dumps(manifest))
    inner = copy
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = other(inner[path[-1]])
    return json.dumps(copy, ensure_ascii=False, indent=2).encode() + b"\n"


def field(path: tuple[Any, ...]) -> str:
    return ".".join(str(key) for key in path if not isinstance(key, int))


@pytest.mark.parametrize("most", [25, pytest.param(10**6, marks=pytest.mark.ci)])
@pytest.mark.parametrize("sealed", [False, True])
def test_every_edited_field_is_found(built: Path, tmp_path: Path, sealed: bool, most: int) -> None:
    root = tmp_path / built.name
    shutil.copytree(built, root)
    text = (root / "manifest.json").read_bytes()
    sums = (root / "SHA256SUMS").read_bytes()
    manifest = json.loads(text)
    every = list(leaves(manifest))
    picked = every if len(every) <= most else random.Random(1).sample(every, most)
    missed: set[str] = set()
    for path in picked:
        data = edited(manifest, path)
        (root / "manifest.json").write_bytes(data)
        if sealed:
            old, new = (hashlib.sha256(d).hexdigest().encode() for d in (text, data))
            (root / "SHA256SUMS").write_bytes(sums.replace(old, new))
        named = {p.path for p in verify_directory(root, level="sizes").problems}
        if sealed and not named:
            missed.add(field(path))
        elif not sealed:
            assert "manifest.json" in named, path
    print(
        f"{len(picked)} of {len(every)} fields edited, {'sealed again' if sealed else 'not sealed'}: not found "
        f"{sorted(missed)}"
    )
    assert {m for m in missed if not any(m == u or m.startswith(f"{u}.") for u in UNDERIVABLE)} == set()
