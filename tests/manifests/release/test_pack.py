"""Pack: archives of sound builds alone, the same bytes every time, and what stands beside them."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from damage import edit_manifest
from packs import TOP, Make, Packs, archive_paths, killed, members_of, packed, tree, usage_of

from corruptset.errors import BuildError, MachineError, VerificationError
from corruptset.manifests.disk.lock import locked
from corruptset.manifests.records.digests import sha256_file
from corruptset.manifests.release import pack as packing
from corruptset.manifests.release.bag import Bag
from corruptset.manifests.release.unpack import unpack
from corruptset.manifests.verify.ladder import verify_directory


def test_twice_packed_is_the_same(packs: Packs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also under another umask, from a copy with other times and permissions, named relatively from another
    directory.
    """
    root, one = packs()
    copy = tmp_path / "copied" / "renamed"
    shutil.copytree(root, copy)
    for p in copy.rglob("*"):
        os.utime(p, (86400, 86400))
        p.chmod(0o700)
    monkeypatch.chdir(tmp_path / "copied")
    before = os.umask(0o077)
    try:
        packed(Path("renamed"), Path("two"))
    finally:
        os.umask(before)
    assert tree(one.path) == tree(tmp_path / "copied" / "two")
    with tarfile.open(archive_paths(one)[0]) as t:
        members = t.getmembers()
    plain = {(0, 0, 0, "", "", 0o644, tarfile.REGTYPE)}
    assert {(m.mtime, m.uid, m.gid, m.uname, m.gname, m.mode, m.type) for m in members} == plain
    assert {tuple(m.pax_headers) for m in members} == {(), ("path",)}  # names with umlauts


def test_the_folder_is_a_bag(packs: Packs) -> None:
    """RFC 8493, by hand; tests/loaders asks the bagit package."""
    out = packs()[1].path
    assert (out / "bagit.txt").read_bytes() == b"BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n"
    files = tree(out)

    def sums(name: str) -> dict[str, str]:
        lines = (line.partition("  ") for line in (out / name).read_text("utf-8").splitlines())
        return {path: f"sha256:{h}" for h, _, path in lines}

    data = {p: h for p, h in files.items() if p.startswith("data/")}
    # the index names all others; a bag need not name a file that no bag has to have
    tags = {p: h for p, h in files.items() if p not in data and p != "archives.json"}
    index = json.loads((out / "archives.json").read_bytes())
    assert sums("manifest-sha256.txt") == sums("SHA256SUMS") == data
    assert {a["path"]: a["sha256"] for a in index["archives"]} == data
    assert {f["path"]: f["sha256"] for f in index["files"]} == tags
    assert sums("tagmanifest-sha256.txt") | {"tagmanifest-sha256.txt": tags["tagmanifest-sha256.txt"]} == tags
    sizes = [(out / p).stat().st_size for p in data]
    assert f"Payload-Oxum: {sum(sizes)}.{len(sizes)}\n" in (out / "bag-info.txt").read_text("utf-8")


def test_every_archive_describes_itself_and_any_program_unpacks_it(packs: Packs, tmp_path: Path) -> None:
    root, bag = packs()
    digest = json.loads((root / "manifest.json").read_bytes())["digest"]
    for archive, made in zip(archive_paths(bag), bag.archives, strict=True):
        members = dict(members_of(archive))
        assert next(iter(members)) == f"{TOP}/archives/{archive.stem}.json"
        record = json.loads(members[f"{TOP}/archives/{archive.stem}.json"])
        assert (record["name"], record["version"], record["digest"]) == ("tiny-c", "1.0.0", digest)
        assert {s for u in record["units"] for s in u["sets"]} == set(made.sets)
        common = {"manifest.json", "samples.jsonl", "README.md", "SHA256SUMS"}
        assert {f"{TOP}/{path}" for path in common | {f"sets/{s}.jsonl" for s in made.sets}} <= members.keys()
        for f in record["files"]:
            assert (f["bytes"], f["sha256"]) == ((root / f["path"]).stat().st_size, sha256_file(root / f["path"]))
        subprocess.run(["tar", "-xf", archive, "-C", tmp_path], check=True)
    shutil.rmtree(tmp_path / root.name / "archives")
    assert tree(tmp_path / root.name) == tree(root)
    card, said = (bag.path / "README.md").read_text("utf-8"), ("Source images", "Code", "Textures", "CC0-1.0")
    assert all(part in card for part in (digest, *said, "## Citation", *(a.name for a in bag.archives)))


def test_a_release_without_pixels_has_none(packs: Packs, tmp_path: Path) -> None:
    root, bag = packs(manifest_only=True)
    (archive,) = archive_paths(bag)
    assert {n.rpartition(".")[2] for n, _ in members_of(archive)} == {"json", "jsonl", "md", "0/SHA256SUMS"}
    data = archive.read_bytes()
    assert not any(p.read_bytes()[-64:] in data for p in [*root.rglob("*.png"), *root.rglob("*.h5")])
    done = unpack([archive], tmp_path / "u")
    assert (done.sets, len(done.absent), verify_directory(done.path).problems) == ([], 3, [])
    for path in ("manifest.json", "sets/fog/3.jsonl"):
        assert (done.path / path).read_bytes() == (root / path).read_bytes()
    assert "no images" in (bag.path / "README.md").read_text("utf-8")


def plain(bag: Bag) -> dict[str, tuple[str, ...]]:
    """Return name -> sets, without what no other pack has in its names."""
    start = re.compile(r"tiny-c-1\.0\.0-[0-9a-f]{12}-")
    assert len({start.match(a.name)[0] for a in bag.archives}) == 1  # type: ignore[index]
    return {start.sub("", a.name): a.sets for a in bag.archives}


def test_the_division_by_family_is_imagenet_cs(dataset: Make, packs: Packs, tmp_path: Path) -> None:
    root = dataset()
    # a chain goes with its first stage
    weather = ("fog-3+gaussian_noise-5", "fog/3")
    assert plain(packs()[1]) == {"clean.tar": ("clean",), "weather.tar": weather, "metadata.tar": ()}
    edit_manifest(root, lambda m: m["sets"][2].update(role="validation"), reseal=True)
    assert list(plain(packed(root, tmp_path / "extra")))[1] == "extra.tar"
    by_set = list(plain(packs(by="set")[1]))
    assert by_set == [f"{n}.tar" for n in ("clean", "fog-3+gaussian_noise-5", "fog.3", "metadata")]


def test_archives_are_split_between_sets_and_then_between_files(packs: Packs, tmp_path: Path) -> None:
    root, whole = packs({"repeat": 8, "containers": ("folder",)})
    weather = next(a.bytes for a in whole.archives if "weather" in a.name)
    between_sets = packed(root, tmp_path / "sets", max_bytes=weather - 20_000)
    assert {a.sets for a in between_sets.archives if "weather" in a.name} == {("fog-3+gaussian_noise-5",), ("fog/3",)}
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


def test_what_a_pack_needs_is_known_before(templates: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kinds: dict[str, dict[str, Any]] = {"set": {"containers": ("folder",)}, "family": {"encoding_format": "jpeg"}}
    for by, options in kinds.items():
        asked: list[int] = []
        monkeypatch.setattr(packing, "check_space", lambda out, needed, *_, asked=asked: asked.append(needed))
        bag = packed(templates(**options), tmp_path / by, by=by)
        # These sets have a handful of images: what fills an archive's end, and its own record, are much of it.
        assert abs(asked[0] - bag.bytes) < 0.1 * bag.bytes + 12_000 * len(bag.archives)


def changed_end(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1] + b"\1")


def replaced(old: bytes, new: bytes) -> Callable[[Path], Any]:
    return lambda path: path.write_bytes(path.read_bytes().replace(old, new, 1))


REX = "images/fog/3/1 a dog/deep/rex.png"
DAMAGE: list[tuple[str, Callable[[Path], Any]]] = [
    (REX, changed_end),
    (REX, lambda p: os.truncate(p, p.stat().st_size - 1)),
    (REX, Path.unlink),
    ("hdf5/clean-00001.h5", changed_end),
    ("contact.png", changed_end),
    ("sets/clean.jsonl", replaced(b"0", b"1")),
    ("samples.jsonl", replaced(b"0", b"1")),
    ("manifest.json", replaced(b'"numpy"', b'"Numpy"')),
]


def test_a_damaged_build_is_refused_by_name(dataset: Make, tmp_path: Path) -> None:
    for number, (path, change) in enumerate(DAMAGE):
        root, out = dataset(), tmp_path / f"p{number}"
        change(root / path)
        with pytest.raises(VerificationError) as e:
            packed(root, out)
        assert path in str(e.value)
        assert not [*out.glob("SHA256SUMS"), *out.rglob("*.part")]
    # and a link is not followed
    root = dataset()
    path = root / "images/fog/3/1 a dog/deep"
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(VerificationError, match=r"rex\.png is missing, or a link"):
        packed(root, tmp_path / "p")


def test_where_something_else_is_or_another_works_nothing_is_packed(packs: Packs, tmp_path: Path) -> None:
    root, bag = packs()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.tex").write_text("x")
    (tmp_path / "begun/.corruptset/parts").mkdir(parents=True)  # another build's
    places = {bag.path: "finished pack", tmp_path / "other": "not empty", root / "archives": "inside the build"}
    for out, said in (places | {tmp_path / "begun": "not empty"}).items():
        with pytest.raises(BuildError, match=said):
            packed(root, out)
    works: dict[str, Callable[[], Any]] = {
        "p/.corruptset/pack.lock": lambda: packed(root, tmp_path / "p"),
        f"u/{TOP}/.corruptset/unpack.lock": lambda: unpack(archive_paths(bag), tmp_path / "u"),
    }
    for lock, work in works.items():
        with locked(tmp_path / lock, "busy"), pytest.raises(BuildError, match="Another process"):
            work()
        work()


@pytest.mark.parametrize("at", [1, 37])
def test_a_killed_pack_goes_on_and_needs_room_for_the_rest_alone(
    packs: Packs, tmp_path: Path, at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, whole = packs(by="set")
    killed("pack", at, root, tmp_path / "p")
    stood = {p.name: p.stat() for p in (tmp_path / "p/data").glob("*.tar")}
    assert bool(stood) == (at > 1)
    if stood:
        with pytest.raises(BuildError, match="other options"):
            packed(root, tmp_path / "p", by="family")
    asked: list[int] = []
    monkeypatch.setattr(packing, "check_space", lambda out, needed, *_: asked.append(needed))
    packed(root, tmp_path / "other", by="set")
    bag = packed(root, tmp_path / "p", by="set")
    assert (bag.kept, asked[1]) == (len(stood), asked[0] - sum(s.st_size for s in stood.values()))
    assert tree(bag.path) == tree(whole.path)
    times = {name: (tmp_path / "p/data" / name).stat().st_mtime_ns for name in stood}
    assert times == {name: s.st_mtime_ns for name, s in stood.items()}
    assert not list(bag.path.rglob("*.part"))


def test_without_room_nothing_is_packed(packs: Packs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", usage_of(1000))
    needs = r"p has 1\.0 kB free, and the pack needs about \d+\.\d kB\. Free some space"
    for manifest_only in (False, True):
        with pytest.raises(MachineError, match=needs) as caught:
            packed(packs()[0], tmp_path / "p", manifest_only=manifest_only)
        assert caught.value.exit_code == 3
    assert not (tmp_path / "p").exists()
