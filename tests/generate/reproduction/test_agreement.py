"""Whatever makes images again refuses another source, other code and other textures, before anything is written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from remade import other_revision, photos

import corruptset
from corruptset.errors import SourceError, VerificationError
from corruptset.generate.build import build
from corruptset.generate.reproduction.rebuild import rebuild

RECIPE = """
name = "frosty"
version = "1.0.0"
title = "Frosty"
calibration = "tiny"
preprocessing = {kind = "resize-crop", resize = 72, crop = 64}
encoding = {format = "png"}
[[sets]]
chain = ["contrast-1", "frost-1"]
"""
AGAIN: dict[str, Callable[..., Any]] = {
    "rebuild": lambda root, out, **options: rebuild(root, out=out, jobs=1, **options),
    "rederive": lambda root, out, **options: corruptset.verify(root, rederive="all", jobs=1, **options),
    "repair": lambda root, out, **options: corruptset.verify(root, repair=True, jobs=1, **options),
    "open": lambda root, out, **options: corruptset.open(root, **options),
}


def textures(folder: Path, levels: dict[str, int]) -> Path:
    folder.mkdir()
    for name, level in levels.items():
        Image.fromarray(np.full((250, 260, 3), level, np.uint8)).save(folder / f"{name}.png")
    return folder


@pytest.mark.parametrize("front", AGAIN)
def test_another_source_other_code_and_other_textures(tmp_path: Path, front: str) -> None:
    (tmp_path / "frosty.toml").write_text(RECIPE)
    source, own = photos(tmp_path / "photos", each=1), textures(tmp_path / "own", {"a": 200, "b": 220})
    options: dict[str, Any] = {"jobs": 1, "metrics": 0, "format": "folder", "frost_textures": own}
    built = build(tmp_path / "frosty.toml", source, tmp_path / "one", **options)
    root, out = built.directory, tmp_path / "two"
    assert [t.name for t in built.manifest.textures] == ["a.png", "b.png"]
    min(root.rglob("images/**/*.png")).unlink()  # something to repair
    left = sorted(root.rglob("*"))

    def refused(error: type[Exception], match: str, **options: Any) -> None:
        with pytest.raises(error, match=match):
            AGAIN[front](root, out, **{"source": source, "frost_textures": own} | options)
        assert sorted(root.rglob("*")) == left
        assert not out.exists()

    with other_revision():
        refused(VerificationError, "contrast: revision 2 here, 1 in the data set")
    # which texture an image gets depends on their number and order: one too many, or renamed, is as wrong as another
    for others in ({"a": 200, "b": 221}, {"a": 200}, {"a": 200, "b": 220, "c": 240}, {"b": 200, "a": 220}):
        folder = textures(tmp_path / f"{others}", others)
        refused(VerificationError, "made with other frost textures", frost_textures=folder)
    if front != "open":
        refused(SourceError, "made from the source 'folder': name it with --source", source=None)
    image = tmp_path / "photos/b/0.png"
    good = image.read_bytes()
    Image.new("RGB", (90, 80)).save(image)
    refused(SourceError, r"not the one that .* was made from:\n  b/0: is sha256:\w+, expected sha256:\w+\nName the")
    image.unlink()
    refused(SourceError, "b/0: is not in the source")
    image.write_bytes(good)
    done = AGAIN[front](root, out, source=source, frost_textures=own)
    if front == "rederive":
        assert {p.kind for p in done.problems} == {"missing"}
    else:
        assert done.ok if front == "repair" else (done.built if front == "rebuild" else done).digest == built.digest
