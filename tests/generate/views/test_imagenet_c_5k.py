"""The view imagenet-c-5k: the images of a list, and no class folder empty."""

from __future__ import annotations

from pathlib import Path

import pytest
from layouts import PLAIN, export

from corruptset.errors import BuildError


def test_the_5k_view_takes_the_list_and_fills_the_classes_that_it_leaves_empty(jpeg: Path, tmp_path: Path) -> None:
    names = [f"{c:02d}_class/im.{c % 2}.JPEG {c}" for c in range(10) if c not in (2, 5, 9)]
    (tmp_path / "list.txt").write_text("\n".join(names) + "\n")
    done = export("imagenet-c-5k", jpeg, tmp_path / "data", sets=PLAIN, images=tmp_path / "list.txt")
    folder = tmp_path / "data/ImageNet-C/contrast/3"
    found = {p.relative_to(folder).as_posix() for p in folder.rglob("*.JPEG")}
    assert found == {n.split()[0] for n in names} | {f"{c:02d}_class/im.0.JPEG" for c in (2, 5, 9)}
    assert any("3 more keep class folders" in note and "02_class, 05_class, 09_class" in note for note in done.notes)
    (tmp_path / "bad.txt").write_text("00_class/im.0.JPEG\nno-such-one.JPEG\nim.1.JPEG\n")
    with pytest.raises(BuildError, match=r"no-such-one.JPEG: is not among the samples\n  im.1.JPEG: names 10 samples"):
        export("imagenet-c-5k", jpeg, tmp_path / "other", sets=PLAIN, images=tmp_path / "bad.txt")
    with pytest.raises(BuildError, match="--list"):
        export("imagenet-c-5k", jpeg, tmp_path / "other", sets=PLAIN)
    assert not (tmp_path / "other").exists()
