"""Pack: the bytes are always the same, damaged datasets are refused, and an interrupted pack can be resumed."""

import os
import re
import shutil
import signal
from pathlib import Path

import pytest
from damage import edit_lines, edit_manifest, flip
from packs import TOP, archive_paths, disk_usage_with, file_hashes, pack_dataset, run_and_kill

from corruptset.errors import BuildError, MachineError, VerificationError
from corruptset.manifests.disk.lock import hold_lock
from corruptset.manifests.release import pack as packing
from corruptset.manifests.release.unpack import unpack
from corruptset.manifests.verify.directory import verify_directory


def test_packing_twice_gives_same_bytes(packs, tmp_path, monkeypatch):
    """The bytes do not depend on the umask, permissions, times, or the way in which paths are given."""
    root, one = packs()
    copy = tmp_path / "copied" / "renamed"
    shutil.copytree(root, copy)
    for p in copy.rglob("*"):
        os.utime(p, (86400, 86400))
        p.chmod(0o700)
    monkeypatch.chdir(tmp_path / "copied")
    before = os.umask(0o077)
    try:
        pack_dataset(Path("renamed"), Path("two"))
    finally:
        os.umask(before)
    assert file_hashes(one.path) == file_hashes(tmp_path / "copied" / "two")


def sets_by_archive(bag):
    """Return name of an archive -> sets, without the digits that identify the pack."""
    start = re.compile(r"tiny-c-1\.0\.0-[0-9a-f]{12}-")
    assert len({start.match(a.name)[0] for a in bag.archives}) == 1
    return {start.sub("", a.name): a.sets for a in bag.archives}


def test_division_by_family_matches_imagenet_c(dataset, packs, tmp_path):
    root = dataset()
    # a chain belongs to the group of its first stage
    weather = ("fog-3+gaussian_noise-5", "fog/3")
    assert sets_by_archive(packs()[1]) == {"clean.tar": ("clean",), "weather.tar": weather, "metadata.tar": ()}
    edit_manifest(root, lambda m: m["sets"][2].update(role="validation"), reseal=True)
    assert list(sets_by_archive(pack_dataset(root, tmp_path / "extra")))[1] == "extra.tar"
    by_corruption = sets_by_archive(pack_dataset(root, tmp_path / "corruptions", by="corruption"))
    assert by_corruption == {"clean.tar": ("clean",), "fog.tar": weather, "metadata.tar": ()}
    by_set = list(sets_by_archive(packs(by="set")[1]))
    assert by_set == [f"{n}.tar" for n in ("clean", "fog-3+gaussian_noise-5", "fog.3", "metadata")]


def test_archives_are_split_between_sets_first_then_between_files(packs, tmp_path):
    root, whole = packs({"repeat": 8, "containers": ("folder",)})
    weather = next(a.bytes for a in whole.archives if "weather" in a.name)
    between_sets = pack_dataset(root, tmp_path / "sets", max_bytes=weather - 20_000)
    assert {a.sets for a in between_sets.archives if "weather" in a.name} == {("fog-3+gaussian_noise-5",), ("fog/3",)}
    assert sets_by_archive(between_sets).keys() >= {f"weather-000{n}.tar" for n in (0, 1)}
    max_bytes = between_sets.archives[0].bytes * 3 // 4
    bag = pack_dataset(root, tmp_path / "files", max_bytes=max_bytes)
    assert all(a.bytes <= max_bytes for a in bag.archives[:-1])
    pieces = [p for p in archive_paths(bag) if "clean" in p.name]
    assert len(pieces) > 1
    first = unpack(pieces[:1], tmp_path / "u")
    # half of a set is not a set
    assert (first.sets, verify_directory(first.path).problems) == ([], [])
    assert unpack(pieces[1:], tmp_path / "u").sets == ["clean"]
    assert verify_directory(first.path).problems == []
    assert not unpack(archive_paths(bag), tmp_path / "u").absent
    assert file_hashes(first.path) == file_hashes(root)
    with pytest.raises(BuildError, match="too small"):
        pack_dataset(root, tmp_path / "none", max_bytes=max_bytes // 8)


def test_pack_predicts_required_space(templates, tmp_path, monkeypatch):
    kinds = {"set": {"containers": ("folder",)}, "family": {"encoding_format": "jpeg"}}
    for by, options in kinds.items():
        requests = []
        monkeypatch.setattr(packing, "check_space", lambda out, needed, *_, asked=requests: asked.append(needed))
        bag = pack_dataset(templates(**options), tmp_path / by, by=by)
        # these sets have few images, so the ends and the records of archives dominate their size
        assert abs(requests[0] - bag.bytes) < 0.1 * bag.bytes + 12_000 * len(bag.archives)


def change_end(path):
    path.write_bytes(path.read_bytes()[:-1] + b"\1")


def replaced(old, new):
    return lambda path: path.write_bytes(path.read_bytes().replace(old, new, 1))


REX = "images/fog/3/1 a dog/deep/rex.png"
DAMAGE = [
    (REX, change_end),
    (REX, Path.unlink),
    ("hdf5/clean-00001.h5", change_end),
    ("sets/clean.jsonl", replaced(b"0", b"1")),
    ("samples.jsonl", replaced(b"0", b"1")),
    ("manifest.json", replaced(b'"numpy"', b'"Numpy"')),
]


def test_damaged_build_is_rejected_by_name(dataset, tmp_path):
    for number, (path, change) in enumerate(DAMAGE):
        root, out = dataset(), tmp_path / f"p{number}"
        change(root / path)
        with pytest.raises(VerificationError) as exc_info:
            pack_dataset(root, out)
        assert path in str(exc_info.value)
        assert not [*out.glob("SHA256SUMS"), *out.rglob("*.part")]
    # and a link is not followed
    root = dataset()
    path = root / "images/fog/3/1 a dog/deep"
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(VerificationError, match=r"rex\.png is missing, is a link"):
        pack_dataset(root, tmp_path / "p")


def test_pack_rejects_existing_files_and_running_process(packs, tmp_path):
    root, bag = packs()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.tex").write_text("x")
    (tmp_path / "begun/.corruptset/parts").mkdir(parents=True)  # that of another dataset
    places = {bag.path: "finished pack", tmp_path / "other": "not empty", root / "archives": "inside the dataset"}
    for out, message in (places | {tmp_path / "begun": "not empty"}).items():
        with pytest.raises(BuildError, match=message):
            pack_dataset(root, out)
    works = {
        ".p.lock": lambda: pack_dataset(root, tmp_path / "p"),
        f"u/.{TOP}.lock": lambda: unpack(archive_paths(bag), tmp_path / "u"),
    }
    for lock, work in works.items():
        with hold_lock(tmp_path / lock, "busy"), pytest.raises(BuildError, match=r"Another `corruptset (pack|unpack)`"):
            work()
        work()
        assert not (tmp_path / lock).exists()


def test_no_other_unpack_starts_during_removal_of_work_folder(packs, tmp_path, monkeypatch):
    bag, original, refused = packs()[1], shutil.rmtree, []

    def rmtree(folder, *args, **options):
        original(folder, *args, **options)
        if not refused:
            refused.append(folder)
            with pytest.raises(BuildError, match="Another `corruptset"):
                unpack(archive_paths(bag), tmp_path / "u")

    monkeypatch.setattr(shutil, "rmtree", rmtree)
    unpack(archive_paths(bag), tmp_path / "u")
    assert [folder.name for folder in refused] == [".corruptset"]


def test_killed_pack_resumes_and_needs_space_for_remainder_only(packs, tmp_path, monkeypatch):
    root, whole = packs(by="set")
    assert run_and_kill(37, pack_dataset, root, tmp_path / "p", by="set") == -signal.SIGKILL
    stood = {p.name: p.stat() for p in (tmp_path / "p/data").glob("*.tar")}
    assert stood
    with pytest.raises(BuildError, match="other options"):
        pack_dataset(root, tmp_path / "p", by="family")
    for spoil in (flip, lambda path: os.truncate(path, path.stat().st_size // 2)):
        copy = shutil.copytree(tmp_path / "p", tmp_path / f"p{spoil.__name__}")
        spoil(copy / "data" / next(iter(stood)))
        assert (pack_dataset(root, copy, by="set").kept, file_hashes(copy)) == (len(stood) - 1, file_hashes(whole.path))
    requests = []
    monkeypatch.setattr(packing, "check_space", lambda out, needed, *_: requests.append(needed))
    pack_dataset(root, tmp_path / "other", by="set")
    bag = pack_dataset(root, tmp_path / "p", by="set")
    assert (bag.kept, requests[1]) == (len(stood), requests[0] - sum(s.st_size for s in stood.values()))
    assert file_hashes(bag.path) == file_hashes(whole.path)
    times = {name: (tmp_path / "p/data" / name).stat().st_mtime_ns for name in stood}
    assert times == {name: s.st_mtime_ns for name, s in stood.items()}
    assert not list(bag.path.rglob("*.part"))


def test_pack_without_space_writes_nothing(packs, tmp_path, monkeypatch):
    root, _ = packs()
    monkeypatch.setattr(shutil, "disk_usage", disk_usage_with(1000))
    needs = r"p has 1\.0 kB free, but the pack needs about \d+\.\d kB\. Free some space"
    for manifest_only in (False, True):
        with pytest.raises(MachineError, match=needs) as exc_info:
            pack_dataset(root, tmp_path / "p", manifest_only=manifest_only)
        assert exc_info.value.exit_code == 3
    assert not (tmp_path / "p").exists()


def test_nothing_is_packed_through_link_out_of_folder(packs, tmp_path):
    root, _ = packs()
    outside, out = tmp_path / "outside", tmp_path / "out"
    outside.mkdir()
    with pytest.raises(KeyboardInterrupt):
        packing.pack(root, out, progress=interrupt)
    shutil.rmtree(out / "data")
    (out / "data").symlink_to(outside)
    with pytest.raises(BuildError, match=r"out/data is, or is below, a symbolic link that leads out of .*out,"):
        packing.pack(root, out)
    assert not [*outside.iterdir()]


def relabel(label):
    def change(root):
        edit_lines(root / "samples.jsonl", lambda rows: rows[0].update(label=label))
        edit_manifest(root, lambda m: None, reseal=True)

    return change


def forge(change):
    return lambda root: edit_manifest(root, change, reseal=True)


FORGERIES = {
    "environment: Dictionary should have at most 1000": forge(
        lambda m: m["environment"].update({f"library-{i}": "1" for i in range(10_000)})
    ),
    "environment.numpy: String should have at most 1000": forge(lambda m: m["environment"].update(numpy="1" * 5000)),
    "sets[0].id: a part between slashes has 1000": forge(lambda m: m["sets"][0].update(id="a" * 1000)),
    "sets[0].id: String should have at most 1024": forge(lambda m: m["sets"][0].update(id="a/" * 999 + "a")),
    "does not list 'sets/other.jsonl'": forge(lambda m: m["sets"][0].update(id="other")),
    "name: String should have at most 200": forge(lambda m: m.update(name="x" * 1000)),
    "version: String should have at most 200": forge(lambda m: m.update(version="1" * 1000)),
    "name and version together have more than 199": forge(lambda m: m.update(name="x" * 120, version="1" * 120)),
    "line 1: label": relabel(-1),
    "line 1: label:": relabel(2**60),
    "is 5, but the dataset has 2 classes": relabel(5),
    f"is {2**52}, but the dataset has 2 classes": relabel(2**52),
}


@pytest.mark.parametrize("message", FORGERIES)
@pytest.mark.parametrize("manifest_only", [False, True])
def test_forged_records_are_dataset_error(dataset, tmp_path, message, manifest_only):
    root = dataset(containers=("folder",))
    FORGERIES[message](root)
    with pytest.raises(VerificationError, match=re.escape(message)) as error:
        packing.pack(root, tmp_path / "out", manifest_only=manifest_only)
    assert len(str(error.value)) < 2000
    assert not [*tmp_path.glob("out/data/*")]


def test_oversized_checksum_file_is_not_read(dataset, tmp_path):
    root = dataset(containers=("folder",))
    os.truncate(root / "SHA256SUMS", 1 << 40)
    with pytest.raises(VerificationError, match=r"SHA256SUMS has 1,099,511,627,776 bytes, which is too large"):
        packing.pack(root, tmp_path / "out")
    os.truncate(root / "samples.jsonl", 1 << 40)
    for level in ("sizes", "hashes"):
        assert {p.path for p in verify_directory(root, level=level).problems} >= {"SHA256SUMS", "samples.jsonl"}


def interrupt(*_):
    raise KeyboardInterrupt
