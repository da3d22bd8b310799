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


def test_a_damaged_build_is_refused_by_name(dataset: Make, tmp_path: Path) -> None:
    for number, (path, change) in enumerate(DAMAGE.values()):
        root = dataset()
        change(root / path)
        with pytest.raises(VerificationError) as e:
            packed(root, tmp_path / f"p{number}")
        assert path in str(e.value)
        assert not (tmp_path / f"p{number}/SHA256SUMS").exists()
        assert not list((tmp_path / f"p{number}").rglob("*.part"))
    # and a link is not followed
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
    (tmp_path / "begun/.corruptset/parts").mkdir(parents=True)  # another build's
    with pytest.raises(BuildError, match="not empty"):
        packed(root, tmp_path / "begun")


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
    assert {name: (tmp_path / "p/data" / name).stat().st_mtime_ns for name in stood} == {
        name: s.st_mtime_ns for name, s in stood.items()
    }
    assert not list(bag.path.rglob("*.part"))


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


def test_without_room_nothing_is_packed(packs: Packs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root, whole = packs(by="set")
    with monkeypatch.context() as patched:
        patched.setattr(shutil, "disk_usage", usage_of(1000))
        needs = r"p has 1\.0 kB free, and the pack needs about \d+\.\d kB\. Free some space"
        for manifest_only in (False, True):
            with pytest.raises(MachineError, match=needs) as caught:
                packed(root, tmp_path / "p", manifest_only=manifest_only)
            assert caught.value.exit_code == 3
    assert not (tmp_path / "p").exists()
    bag = packed(root, tmp_path / "p", by="set")  # also with other options: nothing was begun
    assert tree(bag.path) == tree(whole.path)
