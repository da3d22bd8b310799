"""What goes into which archive, and how much room it needs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from damage import edit_manifest
from packs import Make, Packs, archive_paths, packed, tree

from corruptset.errors import BuildError
from corruptset.manifests.records.digests import sha256_file
from corruptset.manifests.release import pack as packing
from corruptset.manifests.release.bag import Bag
from corruptset.manifests.release.unpack import unpack
from corruptset.manifests.verify.ladder import verify_directory


def plain(bag: Bag) -> dict[str, tuple[str, ...]]:
    """Return name -> sets, without what no other pack has in its names."""
    start = re.compile(r"tiny-c-1\.0\.0-[0-9a-f]{12}-")
    assert len({start.match(a.name)[0] for a in bag.archives}) == 1  # type: ignore[index]
    return {start.sub("", a.name): a.sets for a in bag.archives}


def test_the_division_by_family_is_imagenet_cs(dataset: Make, packs: Packs, tmp_path: Path) -> None:
    root = dataset()
    # a chain goes with its first stage
    assert plain(packs()[1]) == {
        "clean.tar": ("clean",),
        "weather.tar": ("fog-3+gaussian_noise-5", "fog/3"),
        "metadata.tar": (),
    }
    before = sha256_file(root / "manifest.json")
    edit_manifest(root, lambda m: m["sets"][2].update(role="validation"))
    sums = (root / "SHA256SUMS").read_text("utf-8")
    (root / "SHA256SUMS").write_text(sums.replace(before[7:], sha256_file(root / "manifest.json")[7:]), "utf-8")
    assert list(plain(packed(root, tmp_path / "extra")))[1] == "extra.tar"
    by_set = list(plain(packs(by="set")[1]))
    assert by_set == [f"{n}.tar" for n in ("clean", "fog-3+gaussian_noise-5", "fog.3", "metadata")]


def test_archives_are_split_between_sets_and_then_between_files(packs: Packs, tmp_path: Path) -> None:
    root, whole = packs({"repeat": 8})
    weather = next(a.bytes for a in whole.archives if "weather" in a.name)
    between_sets = packed(root, tmp_path / "sets", max_bytes=weather - 20_000)
    assert {a.sets for a in between_sets.archives if "weather" in a.name} == {
        ("fog-3+gaussian_noise-5",),
        ("fog/3",),
    }
    assert plain(between_sets).keys() >= {f"weather-000{n}.tar" for n in (0, 1)}
    most = between_sets.archives[0].bytes * 3 // 4
    bag = packed(root, tmp_path / "files", max_bytes=most)
    assert all(a.bytes <= most for a in bag.archives[:-1])
    pieces = [p for p in archive_paths(bag) if "clean" in p.name]
    assert len(pieces) > 1
    first = unpack(pieces[:1], tmp_path / "u")
    # half of a set is no set
    assert (first.sets, verify_directory(first.path).problems) == ([], [])
    assert unpack(pieces[1:], tmp_path / "u").sets == ["clean"]
    assert verify_directory(first.path).problems == []
    assert not unpack(archive_paths(bag), tmp_path / "u").absent
    assert tree(first.path) == tree(root)
    with pytest.raises(BuildError, match="too small"):
        packed(root, tmp_path / "none", max_bytes=most // 8)


@pytest.mark.parametrize(
    ("options", "by"),
    [
        ({"containers": ("folder",)}, "set"),
        ({"containers": ("hdf5",)}, "family"),
        ({"encoding_format": "jpeg"}, "family"),
    ],
    ids=str,
)
def test_what_a_pack_needs_is_known_before(
    templates: Make, tmp_path: Path, options: dict[str, Any], by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    monkeypatch.setattr(packing, "check_space", lambda out, needed, *_: asked.append(needed))
    bag = packed(templates(**options), tmp_path / "p", by=by)
    # These sets have a handful of images: what fills an archive's end, and its own record, are much of it.
    assert abs(asked[0] - bag.bytes) < 0.1 * bag.bytes + 12_000 * len(bag.archives)
