"""Pack: the same bytes every time, of sound builds alone, resumed after a kill."""

from __future__ import annotations

import os
import shutil
import tarfile
from pathlib import Path

import pytest
from packs import Make, Packs, archive_paths, killed, packed, tree, usage_of

from corruptset.errors import BuildError, MachineError, VerificationError
from corruptset.manifests.disk.lock import locked
from corruptset.manifests.release import pack as packing
from corruptset.manifests.release.unpack import unpack


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


def test_a_tar_says_nothing_of_whoever_made_it(packs: Packs) -> None:
    with tarfile.open(archive_paths(packs()[1])[0]) as t:
        members = t.getmembers()
    assert {(m.mtime, m.uid, m.gid, m.uname, m.gname, m.mode, m.type) for m in members} == {
        (0, 0, 0, "", "", 0o644, tarfile.REGTYPE)
    }
    assert {tuple(m.pax_headers) for m in members} == {(), ("path",)}  # names with umlauts


DAMAGE = {
    "an image": ("images/fog/3/1 a dog/deep/rex.png", lambda p: p.write_bytes(p.read_bytes()[:-1] + b"\1")),
    "an image cut": ("images/fog/3/1 a dog/deep/rex.png", lambda p: p.write_bytes(p.read_bytes()[:-1])),
    "an image gone": ("images/fog/3/1 a dog/deep/rex.png", Path.unlink),
    "a shard": ("hdf5/clean-00001.h5", lambda p: p.write_bytes(p.read_bytes()[:-1] + b"\1")),
    "rows": ("sets/clean.jsonl", lambda p: p.write_bytes(p.read_bytes().replace(b"0", b"1", 1))),
    "samples": ("samples.jsonl", lambda p: p.write_bytes(p.read_bytes().replace(b"0", b"1", 1))),
    "manifest": ("manifest.json", lambda p: p.write_bytes(p.read_bytes().replace(b'"numpy"', b'"Numpy"', 1))),
    "the sheet": ("contact.png", lambda p: p.write_bytes(p.read_bytes()[:-1] + b"\1")),
}


@pytest.mark.parametrize("what", DAMAGE)
def test_a_damaged_build_is_refused_by_name(dataset: Make, tmp_path: Path, what: str) -> None:
    root = dataset()
    path, change = DAMAGE[what]
    change(root / path)
    with pytest.raises(VerificationError) as e:
        packed(root, tmp_path / "p")
    assert path in str(e.value)
    assert not (tmp_path / "p" / "SHA256SUMS").exists()
    assert not list((tmp_path / "p").rglob("*.part"))


def test_a_link_in_a_build_is_not_followed(dataset: Make, tmp_path: Path) -> None:
    root = dataset()
    path = root / "images/fog/3/1 a dog/deep"
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(VerificationError, match=r"rex\.png is missing, or a link"):
        packed(root, tmp_path / "p")


def test_where_something_else_is_nothing_is_packed(packs: Packs, tmp_path: Path) -> None:
    root, bag = packs()
    with pytest.raises(BuildError, match="finished pack"):
        packed(root, bag.path)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.tex").write_text("x")
    with pytest.raises(BuildError, match="not empty"):
        packed(root, tmp_path / "other")
    with pytest.raises(BuildError, match="inside the build"):
        packed(root, root / "archives")


@pytest.mark.parametrize("at", [1, 20, 37, 46])
def test_a_killed_pack_goes_on(packs: Packs, tmp_path: Path, at: int) -> None:
    root, whole = packs(by="set")
    killed("pack", at, root, tmp_path / "p")
    stood = {p.name: p.stat().st_mtime_ns for p in (tmp_path / "p/data").glob("*.tar")}
    with pytest.raises(BuildError, match="other options") if stood else pytest.raises(BuildError, match="inside"):
        packed(root, tmp_path / "p" if stood else root / "x", by="family")
    bag = packed(root, tmp_path / "p", by="set")
    assert bag.kept == len(stood)
    assert tree(bag.path) == tree(whole.path)
    assert {n: (tmp_path / "p/data" / n).stat().st_mtime_ns for n in stood} == stood
    assert not list(bag.path.rglob("*.part"))


def test_an_archive_that_is_no_longer_as_noted_is_made_again(packs: Packs, tmp_path: Path) -> None:
    root, whole = packs(by="set")
    killed("pack", 46, root, tmp_path / "p")
    (first, *_) = sorted((tmp_path / "p/data").glob("*.tar"))
    first.write_bytes(first.read_bytes()[:-1] + b"\1")
    packed(root, tmp_path / "p", by="set")
    assert tree(tmp_path / "p") == tree(whole.path)


def test_two_at_once_are_refused(packs: Packs, tmp_path: Path) -> None:
    root, bag = packs()
    with locked(tmp_path / "p/.corruptset/pack.lock", "busy"), pytest.raises(BuildError, match="Another process"):
        packed(root, tmp_path / "p")
    packed(root, tmp_path / "p")
    with (
        locked(tmp_path / "u" / root.name / ".corruptset/unpack.lock", "busy"),
        pytest.raises(BuildError, match="Another process"),
    ):
        unpack(archive_paths(bag), tmp_path / "u")
    unpack(archive_paths(bag), tmp_path / "u")


@pytest.mark.parametrize("manifest_only", [False, True])
def test_without_room_nothing_is_packed(
    packs: Packs, tmp_path: Path, manifest_only: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, whole = packs(by="set")
    with monkeypatch.context() as patched:
        patched.setattr(shutil, "disk_usage", usage_of(1000))
        with pytest.raises(
            MachineError, match=r"p has 1\.0 kB free, and the pack needs about \d+\.\d kB\. Free some space"
        ) as caught:
            packed(root, tmp_path / "p", manifest_only=manifest_only)
        assert caught.value.exit_code == 3
    assert not list((tmp_path / "p").rglob("*.tar*"))
    bag = packed(root, tmp_path / "p", by="set")  # also with other options: nothing was begun
    assert tree(bag.path) == tree(whole.path)


def test_an_interrupted_pack_needs_room_for_the_rest_alone(
    templates: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = templates()
    killed("pack", 46, root, tmp_path / "p")
    stood = sum(p.stat().st_size for p in (tmp_path / "p/data").glob("*.tar"))
    assert stood
    asked: list[int] = []
    monkeypatch.setattr(packing, "check_space", lambda out, needed, *_: asked.append(needed))
    packed(root, tmp_path / "whole", by="set")
    packed(root, tmp_path / "p", by="set")
    assert asked[1] == asked[0] - stood
