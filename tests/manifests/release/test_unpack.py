"""Unpack: the result equals the packed dataset, each archive can be used alone, and a kill loses nothing."""

import json
import shutil
import signal
import tracemalloc
from contextlib import suppress

import pytest
from packs import IMAGE, TOP, archive_paths, disk_usage_with, file_hashes, pack_dataset, run_and_kill, write_archive

from corruptset.errors import BuildError, CorruptsetError, MachineError, UnknownCorruption, VerificationError
from corruptset.manifests.partial import PARTIAL
from corruptset.manifests.reader import Dataset as open_data
from corruptset.manifests.release.unpack import unpack
from corruptset.manifests.verify.directory import verify_directory


@pytest.mark.parametrize(
    ("options", "by"),
    [
        ({"encoding_format": "jpeg"}, "family"),
        ({"containers": ("hdf5",), "uniform": False}, "corruption"),
    ],
    ids=str,
)
def test_pack_and_unpack_round_trip(packs, tmp_path, options, by):
    root, bag = packs(options, by=by)
    result = unpack(archive_paths(bag)[::-1], tmp_path / "u")
    assert result.path == tmp_path / "u" / root.name
    assert file_hashes(result.path) == file_hashes(root)
    assert not result.absent
    # unpacking all archives, or one of them, again keeps everything
    for archives in (archive_paths(bag), archive_paths(bag)[:1]):
        repeated = unpack(archives, tmp_path / "u")
        assert (repeated.absent, repeated.written, file_hashes(result.path)) == ([], 0, file_hashes(root))


def test_hidden_files_next_to_archives_are_ignored(packs, tmp_path):
    root, bag = packs({"containers": ("folder",)})
    (tmp_path / "downloads").mkdir()
    for archive in archive_paths(bag):
        shutil.copy(archive, tmp_path / "downloads")
        (tmp_path / "downloads" / f"._{archive.name}").write_bytes(b"Mac OS X")
    result = unpack([tmp_path / "downloads"], tmp_path / "u")
    assert (result.absent, file_hashes(result.path)) == ([], file_hashes(root))


@pytest.mark.parametrize("container", ["folder", "hdf5"])
def test_single_archive_is_smaller_dataset_and_all_are_complete(packs, tmp_path, container):
    root, bag = packs({"containers": (container,)}, by="set")
    for archive, missing in zip(archive_paths(bag), (2, 1, 0, 0), strict=True):  # the last archive contains the page
        result = unpack([archive], tmp_path / "u")
        assert (len(result.absent), verify_directory(result.path).problems) == (missing, [])
    assert file_hashes(tmp_path / "u" / root.name) == file_hashes(root)
    ids = {s for a in bag.archives for s in a.sets}
    for number, (archive, archive_info) in enumerate(zip(archive_paths(bag), bag.archives, strict=True)):
        result = unpack([archive], tmp_path / f"u{number}")
        report, data = verify_directory(result.path), open_data(result.path)
        assert result.sets == data.set_ids == list(archive_info.sets)
        assert set(result.absent) == ids - set(result.sets)
        assert (report.problems, report.absent, report.partial) == ([], result.absent, True)
        for set_id in result.sets:
            assert [i.tobytes() for i, _ in data[set_id]] == [i.tobytes() for i, _ in open_data(root)[set_id]]
        with pytest.raises(UnknownCorruption, match="only a part of the dataset"):
            data[result.absent[0]]
        with pytest.raises(BuildError, match="is only a part of a dataset"):
            pack_dataset(result.path, tmp_path / "again")


def test_damaged_part_is_found(packs, tmp_path):
    result = unpack(archive_paths(packs(by="set")[1])[:1], tmp_path / "u")

    def problem_files():
        return {(p.path, p.kind) for p in verify_directory(result.path).problems}

    next((result.path / "images/clean").rglob("*.png")).unlink()
    assert [kind for _, kind in problem_files()] == ["missing"]
    (result.path / "images/fog/3").mkdir(parents=True)
    (result.path / "samples.jsonl").unlink()
    (result.path / "stray").write_text("x")
    assert {("samples.jsonl", "missing"), ("stray", "unexpected")} <= problem_files()
    partial = json.loads((result.path / PARTIAL).read_bytes())
    invalid = [
        ({"sets": ["fog/3"]}, ("sets/fog/3.jsonl", "missing")),
        ({"manifest": "sha256:" + "0" * 64}, (PARTIAL, "records")),
    ]
    for change, problem in invalid:
        (result.path / PARTIAL).write_text(json.dumps({**partial, **change}))
        assert problem in problem_files()


def test_killed_unpack_resumes(packs, tmp_path):
    root, bag = packs(by="set")
    assert run_and_kill(30, unpack, archive_paths(bag), tmp_path / "u") == -signal.SIGKILL
    remaining = tmp_path / "u" / root.name
    (problem,) = [p for p in verify_directory(remaining).problems if p.kind == "incomplete"]
    assert "corruptset unpack" in problem.detail
    file_times = {p: p.stat().st_mtime_ns for p in remaining.rglob("*") if p.is_file() and ".corruptset" not in p.parts}
    result = unpack(archive_paths(bag), tmp_path / "u")
    assert file_hashes(remaining) == file_hashes(root)
    assert result.kept >= len(file_times)
    assert {p: p.stat().st_mtime_ns for p in file_times} == file_times


def test_killed_unpack_keeps_existing_files(packs, tmp_path):
    _, bag = packs(by="set")
    unpack([p for p in archive_paths(bag) if "fog.3" in p.name], tmp_path / "u")
    assert run_and_kill(9, unpack, archive_paths(bag), tmp_path / "u") == -signal.SIGKILL
    result = unpack([p for p in archive_paths(bag) if "clean" in p.name], tmp_path / "u")
    assert result.sets == ["clean", "fog/3"]
    assert [p for p in verify_directory(result.path).problems if p.kind != "unexpected"] == []


def test_dataset_stays_readable_during_unpack(packs, tmp_path):
    root, bag = packs(by="set")
    archives, events = archive_paths(bag), []
    result = unpack(archives[:1], tmp_path / "u")
    unpack(archives, tmp_path / "u", progress=lambda *_: events.append(open_data(result.path).set_ids))
    assert events == [result.sets] * len(events) != []
    complete = open_data(root).set_ids
    unpack(archives, tmp_path / "u", progress=lambda *_: events.append(open_data(result.path).set_ids))
    assert events[-1] == complete
    assert run_and_kill(9, unpack, archives, tmp_path / "u") == -signal.SIGKILL
    assert open_data(result.path).set_ids == complete
    assert {p.kind for p in verify_directory(result.path).problems} == {"incomplete"}
    assert unpack(archives, tmp_path / "u").written == 0
    assert file_hashes(result.path) == file_hashes(root)


def flip(path):
    data = path.read_bytes()
    path.write_bytes(data[:-9] + bytes([data[-9] ^ 1]) + data[-8:])


def test_unpack_replaces_files_of_same_size(packs, tmp_path):
    """Existing files are compared by hash: here names and sizes are right, but one byte differs."""
    root, bag = packs(by="set")
    remaining = unpack(str(bag.path), tmp_path / "u").path
    invalid = ("hdf5/clean-00001.h5", "sets/clean.jsonl", "samples.jsonl", "SHA256SUMS")
    paths = [remaining / path for path in ("images/fog/3/1 a dog/deep/rex.png", *invalid)]
    for path in paths:
        flip(path)
    result = unpack(archive_paths(bag), tmp_path / "u")
    assert (result.written, result.absent) == (len(paths), [])
    assert file_hashes(remaining) == file_hashes(root)


def test_parts_of_set_are_added_to_earlier_parts(packs, tmp_path):
    """Archives are unpacked in three calls, in another order and one of them twice. Sets exist when complete."""
    of = {"containers": ("folder",), "repeat": 8}
    max_bytes = next(a.bytes for a in packs(of)[1].archives if "clean" in a.name) * 7 // 10
    pieces = [p for p in archive_paths(packs(of, max_bytes=max_bytes)[1]) if "clean" in p.name]
    assert len(pieces) >= 3
    for piece in [pieces[0], pieces[0], *pieces[2:]]:
        result = unpack([piece], tmp_path / "u")
        assert (result.sets, "clean" in result.absent) == ([], True)
    assert verify_directory(result.path).problems == []
    assert unpack([pieces[1]], tmp_path / "u").sets == ["clean"]


def test_unpack_without_space_writes_nothing(packs, tmp_path, monkeypatch):
    root, bag = packs(by="set")
    with monkeypatch.context() as patched:
        patched.setattr(shutil, "disk_usage", disk_usage_with(1000))
        with pytest.raises(MachineError, match=r"has 1\.0 kB free, but what is in the archives needs about \d+\.\d kB"):
            unpack(archive_paths(bag), tmp_path / "u" / "deep")
        assert not (tmp_path / "u").exists()
    unpack(archive_paths(bag)[:-1], tmp_path / "u")
    # existing files need no additional space
    monkeypatch.setattr(shutil, "disk_usage", disk_usage_with(bag.bytes * 2 // 3))
    with pytest.raises(MachineError, match="needs about"):
        unpack(archive_paths(bag), tmp_path / "elsewhere")
    assert not unpack(archive_paths(bag), tmp_path / "u").absent
    assert file_hashes(tmp_path / "u" / root.name) == file_hashes(root)


def test_unpack_rejects_other_existing_files(packs, tmp_path):
    root, bag = packs()
    _, foreign = packs({"encoding_format": "jpeg"})
    (tmp_path / "u" / root.name).mkdir(parents=True)
    (tmp_path / "u" / root.name / "mine").write_text("x")
    unpack(archive_paths(foreign), tmp_path / "taken")
    remaining = unpack(archive_paths(foreign)[:1], tmp_path / "begun").path
    before = file_hashes(remaining)
    (remaining / "manifest.json").unlink()  # as after a kill, when only the record of the state says what exists
    (remaining / ".corruptset").mkdir()
    (remaining / PARTIAL).rename(remaining / ".corruptset/unpack.json")
    mixed = [archive_paths(bag)[0], archive_paths(foreign)[1]]
    cases = {
        "nowhere": ([tmp_path / "nope.tar"], r"nope\.tar does not exist"),
        "u": (archive_paths(bag), "or something else"),
        "mixed": (mixed, "belong to different datasets"),
        "taken": (archive_paths(bag), "a different dataset"),
        "begun": (archive_paths(bag)[1:2], "contains a different dataset"),
    }
    for out, (archives, message) in cases.items():
        with pytest.raises(BuildError, match=message):
            unpack(archives, tmp_path / out)
    unpack(archive_paths(foreign)[:1], tmp_path / "begun")
    assert file_hashes(remaining) == before
    # the folder contains archives of an earlier release
    release = shutil.copytree(bag.path, tmp_path / "release")
    shutil.copy(archive_paths(foreign)[0], release / "data")
    assert not unpack([release], tmp_path / "replaced").absent


def test_links_at_destination_are_not_followed(valid_members, tmp_path):
    """A prepared folder, in which folders or files of the dataset are links."""
    archive = write_archive(tmp_path / "a", list(valid_members.items()))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / TOP).symlink_to(elsewhere)
    with pytest.raises(CorruptsetError, match="not a folder"):
        unpack([archive], tmp_path / "x")
    unpack([archive], tmp_path / "y")
    root = tmp_path / "y" / TOP
    image = root / IMAGE.removeprefix(f"{TOP}/")
    image.unlink()
    image.symlink_to(elsewhere / "image.png")
    unpack([archive], tmp_path / "y")
    assert not image.is_symlink()
    folder = root / "images/clean"
    folder.rename(elsewhere / "clean")
    folder.symlink_to(elsewhere / "clean")
    with pytest.raises(CorruptsetError, match="is a symbolic link that leads out"):
        unpack([archive], tmp_path / "y")
    assert list(elsewhere.iterdir()) == [elsewhere / "clean"]


def test_large_records_of_unpacking_use_little_memory(packs, tmp_path):
    """A forged PARTIAL.json may contain any ranges of files."""
    _, bag = packs()
    paths = archive_paths(bag)
    unpack(paths[:1], tmp_path)
    (noted,) = tmp_path.glob("*/PARTIAL.json")
    partial = json.loads(noted.read_text())
    partial["sets"] = []
    all_set_ids = {set_id for archive in bag.archives for set_id in archive.sets}
    partial["pieces"] = {
        set_id: [{"first": 3, "count": 2**50}, {"first": 2**52, "count": 2**50}] for set_id in all_set_ids
    }
    noted.write_text(json.dumps(partial))
    tracemalloc.start()
    try:
        with suppress(BuildError, VerificationError):
            unpack(paths, tmp_path)
        assert tracemalloc.get_traced_memory()[1] < 100 << 20
    finally:
        tracemalloc.stop()
