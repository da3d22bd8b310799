"""Pack and unpack: the way there and back is the identity, twice packed is the same, and any archive alone is usable."""

from __future__ import annotations

import filecmp
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from corruptset.errors import BuildError, IncompleteBuild, MachineError, UnknownCorruption, VerificationError
from corruptset.manifests.partial import PARTIAL
from corruptset.manifests.reader import open as open_data
from corruptset.manifests.records.digests import sha256_file
from corruptset.manifests.release import pack as packing
from corruptset.manifests.release.pack import Bag, pack
from corruptset.manifests.release.unpack import unpack
from corruptset.manifests.verify.ladder import verify_directory

FAMILIES = {"fog": "weather", "gaussian_noise": "noise"}
Make = Callable[..., Path]


@pytest.fixture(autouse=True)
def no_power_cuts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waiting for the disk takes most of the time of these tests, and a killed process needs none of it."""
    monkeypatch.setattr(os, "fsync", lambda fd: None)


def packed(root: Path, out: Path, **options: Any) -> Bag:
    return pack(root, out, **{"family": FAMILIES.__getitem__, **options})


def archives(release: Bag) -> list[Path]:
    return [release.path / a.path for a in release.archives]


def plain(release: Bag) -> dict[str, tuple[str, ...]]:
    """Return name -> sets, without what no other pack has in its names."""
    start = re.compile(r"tiny-c-1\.0\.0-[0-9a-f]{12}-")
    assert len({start.match(a.file.path)[0] for a in release.archives}) == 1  # type: ignore[index]
    return {start.sub("", a.file.path): a.sets for a in release.archives}


def tree(root: Path) -> dict[str, str]:
    return {p.relative_to(root).as_posix(): sha256_file(p) for p in sorted(root.rglob("*")) if p.is_file()}


def names(archive: Path) -> list[str]:
    if archive.suffix == ".zip":
        with zipfile.ZipFile(archive) as z:
            return z.namelist()
    with tarfile.open(archive) as t:
        return t.getnames()


@pytest.mark.parametrize("form", ["tar", "zip"])
@pytest.mark.parametrize("by", ["family", "corruption", "set"])
@pytest.mark.parametrize(
    "options", [{"containers": ("folder",), "encoding_format": "jpeg"}, {"containers": ("hdf5",), "uniform": False}, {}], ids=str
)
def test_there_and_back_is_the_identity(dataset: Make, tmp_path: Path, options: dict[str, Any], by: str, form: str) -> None:
    root = dataset(**options)
    release = packed(root, tmp_path / "p", by=by, form=form)
    done = unpack(archives(release)[::-1], tmp_path / "u")
    assert done.path == tmp_path / "u" / root.name
    assert tree(done.path) == tree(root)
    assert not done.absent
    assert verify_directory(done.path).problems == []
    # and over itself: everything is kept
    again = unpack(archives(release), tmp_path / "u")
    assert (again.written, tree(done.path)) == (0, tree(root))


def test_the_division_by_family_is_imagenet_cs(dataset: Make, tmp_path: Path) -> None:
    root = dataset()
    # a chain goes with its first stage
    assert plain(packed(root, tmp_path / "p")) == {
        "clean.tar": ("clean",),
        "weather.tar": ("fog-3+gaussian_noise-5", "fog/3"),
        "metadata.tar": (),
    }
    data = json.loads((root / "manifest.json").read_bytes())
    data["sets"][2]["role"] = "validation"
    rewrite(root, data)
    assert list(plain(packed(root, tmp_path / "extra")))[1] == "extra.tar"
    by_set = list(plain(packed(root, tmp_path / "sets", by="set")))
    assert by_set == [f"{n}.tar" for n in ("clean", "fog-3+gaussian_noise-5", "fog.3", "metadata")]


def rewrite(root: Path, data: dict[str, Any]) -> None:
    """Replace manifest.json, with its line of SHA256SUMS and the digests left as they are."""
    text = json.dumps(data).encode()
    old = sha256_file(root / "manifest.json").removeprefix("sha256:")
    (root / "manifest.json").write_bytes(text)
    sums = (root / "SHA256SUMS").read_text("utf-8")
    (root / "SHA256SUMS").write_text(sums.replace(old, hashlib.sha256(text).hexdigest()), "utf-8")


@pytest.mark.parametrize("form", ["tar", "zip"])
def test_twice_packed_is_the_same(dataset: Make, tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also under another umask, from a copy with other times and permissions, named relatively from another directory."""
    root = dataset()
    one = packed(root, tmp_path / "one", form=form)
    copy = tmp_path / "copied" / "renamed"
    shutil.copytree(root, copy)
    for p in copy.rglob("*"):
        os.utime(p, (86400, 86400))
        p.chmod(0o700)
    monkeypatch.chdir(tmp_path / "copied")
    before = os.umask(0o077)
    try:
        packed(Path("renamed"), Path("two"), form=form)
    finally:
        os.umask(before)
    assert tree(one.path) == tree(tmp_path / "copied" / "two")


def test_a_tar_says_nothing_of_whoever_made_it(dataset: Make, tmp_path: Path) -> None:
    with tarfile.open(archives(packed(dataset(), tmp_path / "p"))[0]) as t:
        members = t.getmembers()
    assert {(m.mtime, m.uid, m.gid, m.uname, m.gname, m.mode, m.type) for m in members} == {(0, 0, 0, "", "", 0o644, tarfile.REGTYPE)}
    assert {tuple(m.pax_headers) for m in members} == {(), ("path",)}  # names with umlauts


@pytest.mark.parametrize("containers", [("folder",), ("hdf5",), ("folder", "hdf5")], ids=str)
def test_any_archive_alone_is_a_smaller_data_set(dataset: Make, tmp_path: Path, containers: tuple[str, ...]) -> None:
    root = dataset(containers=containers)
    release = packed(root, tmp_path / "p", by="set")
    ids = [s for a in release.archives for s in a.sets]
    for number, (archive, made) in enumerate(zip(archives(release), release.archives, strict=True)):
        done = unpack([archive], tmp_path / f"u{number}")
        assert done.sets == list(made.sets)
        assert sorted(done.sets + done.absent) == sorted(ids)
        report = verify_directory(done.path)
        assert (report.problems, report.absent, report.partial) == ([], done.absent, True)
        data = open_data(done.path)
        assert data.set_ids == done.sets
        for set_id in done.sets:
            assert [i.tobytes() for i, _ in data[set_id]] == [i.tobytes() for i, _ in open_data(root)[set_id]]
        with pytest.raises(UnknownCorruption, match="is not in it"):
            data[done.absent[0]]
        with pytest.raises(IncompleteBuild, match="is a part of a data set"):
            packed(done.path, tmp_path / "again")


def test_parts_grow_into_the_whole(dataset: Make, tmp_path: Path) -> None:
    root = dataset()
    release = packed(root, tmp_path / "p", by="set")
    absent = [unpack([archive], tmp_path / "u").absent for archive in archives(release)]
    assert list(map(len, absent)) == [2, 1, 0, 0]
    assert tree(tmp_path / "u" / root.name) == tree(root)


def test_a_part_that_is_damaged_is_found(dataset: Make, tmp_path: Path) -> None:
    done = unpack(archives(packed(dataset(), tmp_path / "p", by="set"))[:1], tmp_path / "u")
    image = next((done.path / "images/clean").rglob("*.png"))
    image.unlink()
    assert [p.kind for p in verify_directory(done.path).problems] == ["missing"]
    (done.path / "images/fog/3").mkdir(parents=True)
    (done.path / "samples.jsonl").unlink()
    (done.path / "stray").write_text("x")
    problems = {(p.path, p.kind) for p in verify_directory(done.path).problems}
    assert {("samples.jsonl", "missing"), ("stray", "unexpected")} <= problems
    partial = json.loads((done.path / PARTIAL).read_bytes())
    (done.path / PARTIAL).write_text(json.dumps({**partial, "sets": ["fog/3"]}))
    kinds = {(p.path, p.kind) for p in verify_directory(done.path).problems}
    assert ("sets/fog/3.jsonl", "missing") in kinds
    (done.path / PARTIAL).write_text(json.dumps({**partial, "manifest": "sha256:" + "0" * 64}))
    assert (PARTIAL, "records") in {(p.path, p.kind) for p in verify_directory(done.path).problems}


@pytest.mark.parametrize("form", ["tar", "zip"])
def test_a_release_without_pixels_has_none(dataset: Make, tmp_path: Path, form: str) -> None:
    root = dataset()
    release = packed(root, tmp_path / "p", manifest_only=True, form=form)
    (archive,) = archives(release)
    assert {n.rpartition(".")[2] for n in names(archive)} == {"json", "jsonl", "md", "0/SHA256SUMS"}
    for p in [*root.rglob("*.png"), *root.rglob("*.h5")]:
        assert p.read_bytes()[-64:] not in archive.read_bytes()
    done = unpack([archive], tmp_path / "u")
    assert (done.sets, len(done.absent)) == ([], 3)
    assert verify_directory(done.path).problems == []
    assert (done.path / "manifest.json").read_bytes() == (root / "manifest.json").read_bytes()
    assert (done.path / "sets/fog/3.jsonl").read_bytes() == (root / "sets/fog/3.jsonl").read_bytes()
    assert "no images" in (release.path / "README.md").read_text("utf-8")


@pytest.mark.parametrize("form", ["tar", "zip"])
def test_archives_are_split_between_sets_and_then_between_files(dataset: Make, tmp_path: Path, form: str) -> None:
    root = dataset(repeat=8)
    whole = packed(root, tmp_path / "whole", form=form)
    weather = next(a.file.bytes for a in whole.archives if "weather" in a.file.path)
    between_sets = packed(root, tmp_path / "sets", form=form, max_bytes=weather - 20_000)
    assert {a.sets for a in between_sets.archives if "weather" in a.file.path} == {("fog-3+gaussian_noise-5",), ("fog/3",)}
    assert plain(between_sets).keys() >= {f"weather-000{n}.{form}" for n in (0, 1)}
    most = between_sets.archives[0].file.bytes * 3 // 4
    release = packed(root, tmp_path / "files", form=form, max_bytes=most)
    assert all(a.file.bytes <= most for a in release.archives[:-1])
    pieces = [p for p in archives(release) if "clean" in p.name]
    assert len(pieces) > 1
    first = unpack(pieces[:1], tmp_path / "u")
    # half of a set is no set
    assert (first.sets, verify_directory(first.path).problems) == ([], [])
    assert unpack(pieces[1:], tmp_path / "u").sets == ["clean"]
    assert verify_directory(first.path).problems == []
    assert not unpack(archives(release), tmp_path / "u").absent
    assert tree(first.path) == tree(root)
    with pytest.raises(BuildError, match="too small"):
        packed(root, tmp_path / "none", form=form, max_bytes=most // 8)


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


def test_where_something_else_is_nothing_is_packed(dataset: Make, tmp_path: Path) -> None:
    root = dataset()
    release = packed(root, tmp_path / "p")
    with pytest.raises(BuildError, match="finished pack"):
        packed(root, release.path)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.tex").write_text("x")
    with pytest.raises(BuildError, match="not empty"):
        packed(root, tmp_path / "other")
    with pytest.raises(BuildError, match="inside the build"):
        packed(root, root / "archives")
    (tmp_path / "u" / root.name).mkdir(parents=True)
    (tmp_path / "u" / root.name / "mine").write_text("x")
    with pytest.raises(BuildError, match="not empty, and nothing was unpacked"):
        unpack(archives(release), tmp_path / "u")
    other = dataset(encoding_format="jpeg")
    foreign = packed(other, tmp_path / "foreign")
    with pytest.raises(BuildError, match="not of one data set"):
        unpack([archives(release)[0], archives(foreign)[1]], tmp_path / "mixed")
    unpack(archives(foreign), tmp_path / "taken")
    with pytest.raises(BuildError, match="another data set"):
        unpack(archives(release), tmp_path / "taken")


KILLED = """
import os, signal, sys
os.fsync = lambda fd: None
from pathlib import Path
from corruptset.manifests.release.pack import pack
from corruptset.manifests.release.unpack import unpack
what, at, source, out = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]), Path(sys.argv[4])
calls = 0
def progress(step, done, total):
    global calls
    calls += 1
    if calls == at:
        os.kill(os.getpid(), signal.SIGKILL)
if what == "pack":
    pack(source, out, family={"fog": "weather", "gaussian_noise": "noise"}.__getitem__, by="set", progress=progress)
else:
    unpack(sorted(source.glob("data/*.tar")), out, progress=progress)
"""


def killed(*arguments: Any) -> int:
    return subprocess.run([sys.executable, "-c", KILLED, *map(str, arguments)], check=False).returncode


@pytest.mark.parametrize("at", [1, 20, 37, 46])
def test_a_killed_pack_goes_on(dataset: Make, tmp_path: Path, at: int) -> None:
    root = dataset()
    whole = packed(root, tmp_path / "whole", by="set")
    assert killed("pack", at, root, tmp_path / "p") == -signal.SIGKILL
    stood = {p.name: p.stat().st_mtime_ns for p in (tmp_path / "p/data").glob("*.tar")}
    with pytest.raises(BuildError, match="other options") if stood else pytest.raises(BuildError, match="inside"):
        packed(root, tmp_path / "p" if stood else root / "x", by="family")
    release = packed(root, tmp_path / "p", by="set")
    assert release.kept == len(stood)
    assert tree(release.path) == tree(whole.path)
    assert {n: (tmp_path / "p/data" / n).stat().st_mtime_ns for n in stood} == stood
    assert not list(release.path.rglob("*.part"))


def test_an_archive_that_is_no_longer_as_noted_is_made_again(dataset: Make, tmp_path: Path) -> None:
    root = dataset()
    whole = packed(root, tmp_path / "whole", by="set")
    assert killed("pack", 46, root, tmp_path / "p") == -signal.SIGKILL
    (first, *_) = sorted((tmp_path / "p/data").glob("*.tar"))
    first.write_bytes(first.read_bytes()[:-1] + b"\1")
    packed(root, tmp_path / "p", by="set")
    assert tree(tmp_path / "p") == tree(whole.path)


@pytest.mark.parametrize("at", [1, 9, 30, 45])
def test_a_killed_unpack_goes_on(dataset: Make, tmp_path: Path, at: int) -> None:
    root = dataset()
    release = packed(root, tmp_path / "p", by="set")
    assert killed("unpack", at, release.path, tmp_path / "u") == -signal.SIGKILL
    left = tmp_path / "u" / root.name
    (problem,) = [p for p in verify_directory(left).problems if p.kind == "incomplete"]
    assert "corruptset unpack" in problem.detail
    there = {p: p.stat().st_mtime_ns for p in left.rglob("*") if p.is_file() and ".corruptset" not in p.parts}
    done = unpack(archives(release), tmp_path / "u")
    assert tree(left) == tree(root)
    assert done.kept >= len(there)
    assert {p: p.stat().st_mtime_ns for p in there} == there


def test_a_killed_unpack_keeps_what_was_there_before(dataset: Make, tmp_path: Path) -> None:
    root = dataset()
    release = packed(root, tmp_path / "p", by="set")
    unpack([p for p in archives(release) if "fog.3" in p.name], tmp_path / "u")
    assert killed("unpack", 9, release.path, tmp_path / "u") == -signal.SIGKILL
    done = unpack([p for p in archives(release) if "clean" in p.name], tmp_path / "u")
    assert done.sets == ["clean", "fog/3"]
    assert [p for p in verify_directory(done.path).problems if p.kind != "unexpected"] == []


def flip(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[:-9] + bytes([data[-9] ^ 1]) + data[-8:])


def test_unpacked_onto_files_of_the_right_size(dataset: Make, tmp_path: Path) -> None:
    """What stands counts by its hash: sizes are right, names are right, and one byte is not."""
    root = dataset()
    release = packed(root, tmp_path / "p", by="set")
    left = unpack(archives(release), tmp_path / "u").path
    wrong = [
        left / p for p in ("images/fog/3/1 a dog/deep/rex.png", "hdf5/clean-00001.h5", "sets/clean.jsonl", "samples.jsonl", "SHA256SUMS")
    ]
    for path in wrong:
        flip(path)
    done = unpack(archives(release), tmp_path / "u")
    assert (done.written, done.absent) == (len(wrong), [])
    assert tree(left) == tree(root)


def test_one_archive_again_over_the_whole(dataset: Make, tmp_path: Path) -> None:
    root = dataset()
    release = packed(root, tmp_path / "p", by="set")
    unpack(archives(release), tmp_path / "u")
    again = unpack(archives(release)[:1], tmp_path / "u")
    assert (again.absent, again.written) == ([], 0)
    assert tree(again.path) == tree(root)


def test_parts_of_a_set_over_earlier_parts(dataset: Make, tmp_path: Path) -> None:
    """In three calls, the middle one last, and one of them twice: a set is there when all of its files are."""
    root = dataset(containers=("folder",), repeat=8)
    most = next(a.file.bytes for a in packed(root, tmp_path / "whole").archives if "clean" in a.file.path) * 7 // 10
    pieces = [p for p in archives(packed(root, tmp_path / "p", max_bytes=most)) if "clean" in p.name]
    assert len(pieces) >= 3
    for piece in [pieces[0], pieces[0], *pieces[2:]]:
        done = unpack([piece], tmp_path / "u")
        assert (done.sets, "clean" in done.absent) == ([], True)
        assert verify_directory(done.path).problems == []
    assert unpack([pieces[1]], tmp_path / "u").sets == ["clean"]


def test_a_part_of_another_data_set_stands_there(dataset: Make, tmp_path: Path) -> None:
    one, other = packed(dataset(), tmp_path / "one", by="set"), packed(dataset(encoding_format="jpeg"), tmp_path / "two", by="set")
    left = unpack(archives(one)[:1], tmp_path / "u").path
    before = tree(left)
    (left / "manifest.json").unlink()  # as after a kill: the note of what is there is all that speaks
    (left / ".corruptset").mkdir()
    (left / PARTIAL).rename(left / ".corruptset/unpack.json")
    with pytest.raises(BuildError, match="holds a part of another data set"):
        unpack(archives(other)[1:2], tmp_path / "u")
    unpack(archives(one)[:1], tmp_path / "u")
    assert tree(left) == before


@pytest.mark.parametrize("path", ["images/clean/0_käfer/zwei.png", "samples.jsonl", "sets/clean.jsonl"])
def test_a_folder_where_a_file_belongs(dataset: Make, tmp_path: Path, path: str) -> None:
    release = packed(dataset(), tmp_path / "p", by="set")
    left = unpack(archives(release)[:1], tmp_path / "u").path
    (left / path).unlink()
    (left / path).mkdir()
    with pytest.raises(BuildError, match="is a folder, where a file of the data set belongs"):
        unpack(archives(release)[:1], tmp_path / "u")
    assert not (left / "manifest.json").exists()


def test_two_at_once_are_refused(dataset: Make, tmp_path: Path) -> None:
    from corruptset.manifests.disk.lock import held

    root = dataset()
    with held(tmp_path / "p" / ".corruptset", "pack"), pytest.raises(BuildError, match="Another process"):
        packed(root, tmp_path / "p")
    release = packed(root, tmp_path / "p")
    with held(tmp_path / "u" / root.name / ".corruptset", "unpack"), pytest.raises(BuildError, match="Another process"):
        unpack(archives(release), tmp_path / "u")
    unpack(archives(release), tmp_path / "u")


def test_the_folder_is_a_bag(dataset: Make, tmp_path: Path) -> None:
    """RFC 8493, by hand; tests/loaders asks the bagit package."""
    out = packed(dataset(), tmp_path / "p").path
    assert (out / "bagit.txt").read_bytes() == b"BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n"
    files = tree(out)

    def sums(name: str) -> dict[str, str]:
        return {path: f"sha256:{h}" for h, _, path in (line.partition("  ") for line in (out / name).read_text("utf-8").splitlines())}

    assert sums("manifest-sha256.txt") == {p: h for p, h in files.items() if p.startswith("data/")} == sums("SHA256SUMS")
    tags = {p: h for p, h in files.items() if not p.startswith("data/")}
    assert sums("tagmanifest-sha256.txt") == {p: h for p, h in tags.items() if p != "tagmanifest-sha256.txt"}
    sizes = [(out / p).stat().st_size for p in files if p.startswith("data/")]
    assert f"Payload-Oxum: {sum(sizes)}.{len(sizes)}\n" in (out / "bag-info.txt").read_text("utf-8")
    assert subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=out, check=False).returncode == 0


def test_every_archive_describes_itself(dataset: Make, tmp_path: Path) -> None:
    root = dataset()
    release = packed(root, tmp_path / "p")
    digest = json.loads((root / "manifest.json").read_bytes())["digest"]
    for archive, made in zip(archives(release), release.archives, strict=True):
        with tarfile.open(archive) as t:
            first = t.next()
            assert first is not None
            assert first.name == f"tiny-c-1.0.0/archives/{archive.stem}.json"
            record = json.load(t.extractfile(first))  # type: ignore[arg-type]
            inside = {m.name.removeprefix("tiny-c-1.0.0/") for m in t.getmembers()}
        assert (record["name"], record["version"], record["digest"]) == ("tiny-c", "1.0.0", digest)
        assert {s for u in record["units"] for s in u["sets"]} == set(made.sets)
        assert {"manifest.json", "samples.jsonl", "README.md", "SHA256SUMS", *(f"sets/{s}.jsonl" for s in made.sets)} <= inside
        for f in record["files"]:
            assert (f["bytes"], f["sha256"]) == ((root / f["path"]).stat().st_size, sha256_file(root / f["path"]))
    card = (release.path / "README.md").read_text("utf-8")
    assert all(
        part in card
        for part in (digest, "Source images", "Code", "Textures", "CC0-1.0", "## Citation", *(a.file.path for a in release.archives))
    )


def test_any_program_unpacks_them(dataset: Make, tmp_path: Path) -> None:
    root = dataset()
    release = packed(root, tmp_path / "p")
    for archive in archives(release):
        subprocess.run(["tar", "-xf", archive, "-C", tmp_path], check=True)
    shutil.rmtree(tmp_path / root.name / "archives")
    assert not filecmp.dircmp(root, tmp_path / root.name).diff_files
    assert tree(tmp_path / root.name) == tree(root)


@pytest.mark.parametrize("form", ["tar", "zip"])
@pytest.mark.parametrize("by", ["family", "set"])
@pytest.mark.parametrize("options", [{"containers": ("folder",)}, {"containers": ("hdf5",)}, {}, {"encoding_format": "jpeg"}], ids=str)
def test_what_a_pack_needs_is_known_before(
    dataset: Make, tmp_path: Path, options: dict[str, Any], by: str, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = dataset(**options)
    asked: list[int] = []
    monkeypatch.setattr(packing, "check_space", lambda out, needed, *_: asked.append(needed))
    release = packed(root, tmp_path / "p", by=by, form=form)
    # These sets have a handful of images: what fills an archive's end, and its own record, are much of it.
    assert abs(asked[0] - release.bytes) < 0.1 * release.bytes + 12_000 * len(release.archives)


def usage_of(free: int) -> Callable[[object], Any]:
    return lambda path: type("Usage", (), {"free": free})()


@pytest.mark.parametrize("manifest_only", [False, True])
def test_without_room_nothing_is_packed(dataset: Make, tmp_path: Path, manifest_only: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    root = dataset()
    with monkeypatch.context() as patched:
        patched.setattr(shutil, "disk_usage", usage_of(1000))
        with pytest.raises(MachineError, match=r"p has 0\.0 MB free, and the pack needs about 0\.\d MB\. Free some space") as caught:
            packed(root, tmp_path / "p", manifest_only=manifest_only)
        assert caught.value.exit_code == 3
    assert not list((tmp_path / "p").rglob("*.tar*"))
    release = packed(root, tmp_path / "p", by="set")  # also with other options: nothing was begun
    assert tree(release.path) == tree(packed(root, tmp_path / "whole", by="set").path)


def test_an_interrupted_pack_needs_room_for_the_rest_alone(dataset: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = dataset()
    assert killed("pack", 46, root, tmp_path / "p") == -signal.SIGKILL
    stood = sum(p.stat().st_size for p in (tmp_path / "p/data").glob("*.tar"))
    assert stood
    asked: list[int] = []
    monkeypatch.setattr(packing, "check_space", lambda out, needed, *_: asked.append(needed))
    packed(root, tmp_path / "whole", by="set")
    packed(root, tmp_path / "p", by="set")
    assert asked[1] == asked[0] - stood


def test_without_room_nothing_is_unpacked(dataset: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = dataset()
    release = packed(root, tmp_path / "p", by="set")
    held = sum(p.stat().st_size for p in root.rglob("*") if p.is_file())
    assert held < 2 * release.bytes
    with monkeypatch.context() as patched:
        patched.setattr(shutil, "disk_usage", usage_of(1000))
        with pytest.raises(MachineError, match=r"has 0\.0 MB free, and what is in the archives needs about 0\.\d MB"):
            unpack(archives(release), tmp_path / "u" / "deep")
        assert not (tmp_path / "u").exists()
    unpack(archives(release)[:-1], tmp_path / "u")
    # What is there already needs no more room.
    monkeypatch.setattr(shutil, "disk_usage", usage_of(release.bytes // 2))
    assert not unpack(archives(release), tmp_path / "u").absent
    assert tree(tmp_path / "u" / root.name) == tree(root)
