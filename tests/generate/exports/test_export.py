"""Test that exports do not depend on the container, are written completely or not at all, and describe themselves."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest
import small_builds
from small_builds import CHAIN_PATTERNS, CONTRAST_SETS, GENERAL_VIEWS, PLAIN_PATTERNS, export

from corruptset.errors import BuildError
from corruptset.generate.exports.export_check import check_export, verify_export
from corruptset.generate.exports.layouts import LAYOUTS


def test_shards_and_unlinkable_files_give_same_exports(
    shared_data: small_builds.SharedData, png: Path, jpeg: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise OSError(errno.EXDEV, "Invalid cross-device link")

    for encoding, layout in (("jpeg", "imagenet-c"), ("jpeg", "webdataset"), ("png", "imagenet-c"), ("png", "cifar-c")):
        both, shards = (
            {"png": png, "jpeg": jpeg}[encoding],
            shared_data.build(recipe={"encoding": encoding}, storage="hdf5"),
        )
        one, other, copied = (tmp_path / f"{encoding}-{layout}-{kind}" for kind in ("both", "shards", "copied"))
        export(layout, both, one, sets=["contrast/*"])
        export(layout, shards, other, sets=["contrast/*"])
        with monkeypatch.context() as patch:
            patch.setattr(os, "link", refuse)
            assert export(layout, both, copied, sets=["contrast/*"]).linked == 0
        assert small_builds.read_files(one) == small_builds.read_files(other) == small_builds.read_files(copied), layout
        assert all(p.stat().st_nlink == 1 for p in copied.rglob("*") if p.is_file())


def test_interrupted_or_rejected_export_leaves_no_files(png: Path, tmp_path: Path) -> None:
    def stop(step: str, count: int, total: int) -> None:
        if count > total // 3:
            raise KeyboardInterrupt

    for layout in ("imagenet-c", "cifar-c", "webdataset"):
        with pytest.raises(KeyboardInterrupt):
            export(layout, png, tmp_path / "data", sets=PLAIN_PATTERNS, progress=stop)
        assert list(tmp_path.iterdir()) == []
    (tmp_path / "full").mkdir()
    (tmp_path / "full/mine.txt").write_text("mine")
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    before = small_builds.read_files(png), small_builds.read_files(tmp_path)
    for layout, out, sets, match in (
        ("cifar-c", tmp_path / "full", PLAIN_PATTERNS, r"is not empty \(mine.txt\)"),
        ("cifar-c", tmp_path / "file", PLAIN_PATTERNS, "not a folder"),
        ("cifar-c", tmp_path / "link", PLAIN_PATTERNS, "not a folder"),
        ("cifar-c", png / "exports", PLAIN_PATTERNS, "is inside the dataset"),
        ("cifar-c", png, PLAIN_PATTERNS, "is inside the dataset"),
        ("imagenet_c", tmp_path / "x", None, "Did you mean 'imagenet-c'"),
        ("imagefolder", tmp_path / "x", ["fogg/*"], r"'fogg/\*' matches no set"),
    ):
        with pytest.raises(BuildError, match=match):
            export(layout, png, out, sets=sets)
    assert (small_builds.read_files(png), small_builds.read_files(tmp_path)) == before
    (tmp_path / "empty").mkdir()
    export("cifar-c", png, tmp_path / "empty", sets=PLAIN_PATTERNS)
    assert verify_export(tmp_path / "empty").ok


WANTED = {
    "clean", "sp010", "sp010+ro-30", "ro-30", "ro-30+sp010", "contrast-3+brightness-5", "brightness-5+contrast-3",
    *(f"black_lines/{level:02d}" for level in range(1, 8)), "contrast/1", "dull", "contrast/3", "contrast/4",
    "contrast/5",
}  # fmt: skip
"""Of CHOSEN: contrast/2 is another name of the set dull."""


def test_every_layout_contains_every_image_and_progress_is_complete(
    shared_data: small_builds.SharedData, png: Path, chains: Path, tmp_path: Path
) -> None:
    """Layouts for any set name chains and levels by their ids, and the pages that list layouts contain all of them."""
    docs = Path(__file__).parents[3] / "docs"
    pages = [(docs / name).read_text("utf-8") for name in ("command-line.md", "use-it-with.md")]
    grey = shared_data.build(
        crops={"classes": 2, "side": 28, "mode": "L"}, recipe={"channels": "keep", "more": CONTRAST_SETS}
    )
    severities = {"first": [f"contrast/{s}" for s in range(1, 6)], "second": ["contrast/1"] * 5}
    asked: dict[str, tuple[Path, dict[str, Any]]] = {
        "imagenet-c": (png, {"sets": PLAIN_PATTERNS}),
        "tiny-imagenet-c": (png, {"sets": PLAIN_PATTERNS}),
        "imagenet-c-5k": (png, {"sets": PLAIN_PATTERNS, "images": ["00_class/im.0"]}),
        "cifar-c": (png, {"severities": severities, "sets": ["clean", "contrast/*"]}),  # a set that is named twice
        "flageval": (png, {"sets": ["clean"]}),
        "mnist-c": (grey, {"sets": ["clean"]}),
    } | {layout: (chains, {"sets": CHAIN_PATTERNS}) for layout in GENERAL_VIEWS}
    assert asked.keys() == LAYOUTS.keys()
    for layout, (directory, options) in asked.items():
        assert all(f"`{layout}`" in page or f"export {layout} " in page for page in pages), layout
        steps: list[tuple[int, int]] = []
        tell = lambda _, *step: steps.append(step)  # noqa: B023, E731
        result = export(layout, directory, tmp_path / layout, progress=tell, **options)
        sets = json.loads((tmp_path / layout / "VIEW.json").read_text("utf-8"))["sets"]
        counts = [n for n, _ in steps]
        assert counts == sorted(counts), layout
        assert {total for _, total in steps} == {counts[-1]} == {sum(s["count"] for s in sets)} == {result.images}, (
            layout
        )
        # each image is the build's of that set, in that set's place
        for report in (verify_export(tmp_path / layout), check_export(directory, tmp_path / layout)):
            assert report.ok, report.problems
        assert report.checked["images"] == result.images
        if layout in GENERAL_VIEWS:
            assert {s["id"]: s["count"] for s in sets} == dict.fromkeys(WANTED, 6)
            for spec in sets:
                assert spec["path"].endswith((spec["id"], f"{spec['id']}.tar", f"{spec['id']}/000000.tar")), spec
