"""Every kind of damage is found and named, and intact datasets have no problems."""

import json
import os
import socket
import unicodedata
from itertools import product
from pathlib import Path

import pytest
from damage import (
    OTHER_PNG,
    PNG_IMAGE,
    SHARD,
    WHOLE_FILES,
    edit_lines,
    edit_shard,
    external_link,
    flip,
    problem_paths,
    verify_problems,
    write_outside_file,
)

import corruptset
from corruptset.errors import IncompleteBuild, VerificationError
from corruptset.manifests.records.report import Problem
from corruptset.manifests.verify.directory import verify_directory


def problem_kinds(root, **options):
    """Return the path and kind of every problem."""
    return {(p.path, p.kind) for p in verify_problems(root, **options)}


def test_intact_datasets_have_no_problems(templates):
    both = [("folder",), ("hdf5",), ("folder", "hdf5")]
    for form, containers, uniform in [*product(("png", "jpeg"), both, (True,)), ("png", both[2], False)]:
        steps = []
        root = templates(encoding_format=form, containers=containers, uniform=uniform)
        report = verify_directory(root, progress=lambda *step, steps=steps: steps.append(step))
        report.raise_for_problems()
        checked_files = report.checked
        assert (checked_files["sets"], checked_files["samples"], checked_files["images"]) == (
            3,
            5,
            15 * len(containers),
        )
        assert checked_files["bytes"] > 15 * 200
        assert str(report.digest).startswith("sha256:")
        assert [step for step in steps if step[0] == "sets"] == [("sets", n, 3) for n in (1, 2, 3)]
        files = [step for step in steps if step[0] == "files"]
        assert files[-1] == ("files", len(files), len(files))


SYSTEM_FILES = [".DS_Store", "images/.DS_Store", "images/fog/3/1 a dog/Thumbs.db", "sets/._fog", "images/fog/3/._x.png"]
SYSTEM_FILES += ["images/clean/desktop.ini", "hdf5/THUMBS.DB", "._manifest.json"]


@pytest.mark.parametrize("containers", [("folder",), ("hdf5",), ("folder", "hdf5")])
def test_operating_system_files_are_noted(dataset, containers):
    root = dataset(containers=containers)
    remaining = [path for path in SYSTEM_FILES if (root / path).parent.is_dir()]
    for path in remaining:
        (root / path).write_bytes(b"Mac OS X")
    for level in ("structure", "pixels"):
        report = verify_directory(root, level=level)
        assert report.ok, report.problems
        assert report.system_files == sorted(remaining)
        (note,) = report.notes
        assert note.startswith(f"Files that macOS or Windows left in the folders: {len(remaining)} (")
        assert report.as_json()["system_files"] == sorted(remaining)


def test_other_hidden_files_and_folders_are_problems(dataset):
    root = dataset(containers=("folder",))
    for path in (".hidden", "images/fog/3/.DS_Store.png", "images/fog/3/x/.DS_Store", ".DS_Store/x"):
        add_file(root, path)
    assert problem_kinds(root) == {
        (".hidden", "unexpected"),
        (".DS_Store/x", "unexpected"),
        ("images/fog/3/.DS_Store.png", "unexpected"),
        ("images/fog/3/x", "unexpected"),  # loaders treat it as a class
    }


def normalize_names(root, form):
    """Convert all names to a Unicode form, and return the number of files whose paths have changed."""
    files = [path for path in root.rglob("*") if path.is_file()]
    changed = sum(not unicodedata.is_normalized(form, path.relative_to(root).as_posix()) for path in files)
    for path in sorted(root.rglob("*"), key=lambda path: -len(path.parts)):
        if (name := unicodedata.normalize(form, path.name)) != path.name:
            path.rename(path.with_name(name))
    return changed


def test_names_in_other_unicode_form_are_one_problem(dataset):
    root = dataset(containers=("folder",))
    count = normalize_names(root, "NFD")
    (problem,) = verify_problems(root)
    assert (count, problem.path, problem.kind) == (9, ".", "unicode")
    assert problem.detail.startswith("9 files have names in a different Unicode form than the records")
    assert "0_käfer/bild eins.png" in problem.detail
    assert "--nfc" in problem.detail
    (root / "images/fog/3/1 a dog/deep/rex.png").unlink()  # other problems are reported too
    assert problem_kinds(root) == {(".", "unicode"), ("images/fog/3/1 a dog/deep/rex.png", "missing")}
    with pytest.raises(VerificationError, match=r"exists under a name in a different Unicode form.*convmv"):
        _ = corruptset.open(root)["fog/3"][0]
    with pytest.raises(VerificationError, match=r"rex\.png is missing"):
        _ = corruptset.open(root)["fog/3"][2]
    normalize_names(root, "NFC")
    assert problem_kinds(root) == {("images/fog/3/1 a dog/deep/rex.png", "missing")}


def move_file(root, path, other):
    (root / path).rename(root / other)


def exchange_files(root, path, other):
    move_file(root, path, "aside")
    move_file(root, other, path)
    move_file(root, "aside", other)


def replace_by_link(root, path):
    move_file(root, path, "../elsewhere")
    (root / path).symlink_to(root.parent / "elsewhere", target_is_directory=(root.parent / "elsewhere").is_dir())


def add_file(root, path):
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_bytes(b"x")


def replace_by_pipe(root, path):
    (root / path).unlink(missing_ok=True)
    os.mkfifo(root / path)


def empty_file(root, path):
    (root / path).mkdir(parents=True)


ONE_SHARD = "hdf5/fog/3-00000.h5"
"""Of a set whose five rows are in one shard."""
FILES = [path for path in WHOLE_FILES if path != SHARD] + [ONE_SHARD, PNG_IMAGE]
NEW = "images/fog/3/1 a dog/Ünal 8.png"
CHAIN = "sets/fog-3+gaussian_noise-5.jsonl"
ODD = [os.fsdecode(name) for name in (b"caf\xe9.png", b"new\nline", "schön".encode())]
STRANGE = (
    "note.txt .hidden contact.png.part images/fog/3/1_class/new.png images/fog/3/new.png images/fog/x.png images/x.png "
    "hdf5/fog/3-00007.h5 hdf5/junk.h5 sets/junk.jsonl"
).split()
LINKED = "images images/fog images/fog/3 sets sets/fog hdf5/fog manifest.json SHA256SUMS samples.jsonl sets/fog/3.jsonl"
DAMAGES = [
    *[(lambda r, p: (r / p).unlink(), (p,), {(p, "missing")}) for p in FILES[1:]],
    *[(add_file, (p,), {(p, "unexpected")}) for p in STRANGE],
    # ImageFolder of torchvision raises an error on an empty class folder
    *[(empty_file, (p,), {(p, "unexpected")}) for p in ("images/fog/3/2_empty", "empty")],
    *[
        (replace_by_link, (p,), {(p, "symlink")})
        for p in [*LINKED.split(), "images/fog/3/1 a dog", ONE_SHARD, PNG_IMAGE]
    ],
    *[(replace_by_pipe, (p,), {(p, "special")}) for p in (PNG_IMAGE, "pipe", "manifest.json")],
    (move_file, (PNG_IMAGE, NEW), {(PNG_IMAGE, "missing"), (NEW, "unexpected")}),
    (empty_file, (".corruptset/parts",), {(".corruptset", "unexpected")}),
    # a link hides the files below it, but not those with a longer name
    (
        lambda r, p: (replace_by_link(r, "sets/fog"), (r / p).unlink()),
        (CHAIN,),
        {("sets/fog", "symlink"), (CHAIN, "missing")},
    ),
]


def test_damage_is_named_without_reading_bytes(dataset):
    for damage, damage_arguments, expected in DAMAGES:
        root = dataset(shard_rows=5)
        damage(root, *damage_arguments)
        assert problem_kinds(root, level="structure") == problem_kinds(root) == expected, damage_arguments
    root = dataset(shard_rows=5)
    for name in ODD:
        add_file(root, name)
    assert [(p.kind, p.path.isprintable()) for p in verify_problems(root)] == [("unexpected", True)] * len(ODD)
    for path in (PNG_IMAGE, "samples.jsonl", "sets/fog/3.jsonl", ONE_SHARD):
        root = dataset(shard_rows=5)
        (root / path).unlink()
        (root / path).mkdir()
        assert {(path, "missing"), (path, "unexpected")} <= problem_kinds(root), path
    root = dataset(shard_rows=5)
    add_file(root, "archives/x.json")  # as `tar -xf` does
    assert [p.detail for p in verify_problems(root)] == ["left by unpacking with tar; remove the folder archives/"]


def test_truncated_and_exchanged_files_are_found(dataset):
    root = dataset(shard_rows=5)
    for path in FILES:
        data = (root / path).read_bytes()
        kind = None if path in ("manifest.json", "SHA256SUMS") else "size"
        for prefix in (b"", data[: len(data) // 2], data[:-1]):
            (root / path).write_bytes(prefix)
            assert path in problem_paths(verify_problems(root, level="sizes"), kind), path
        assert path in problem_paths(verify_problems(root), kind), path
        (root / path).write_bytes(data)
    assert verify_problems(root) == []
    for one, other in ((PNG_IMAGE, OTHER_PNG), (ONE_SHARD, "hdf5/clean-00000.h5")):
        exchange_files(root, one, other)
        assert problem_paths(verify_problems(root)) == {one, other}
        exchange_files(root, one, other)
    exchange_files(root, "images/fog/3", "images/clean")
    assert {p.split("/")[1] for p in problem_paths(verify_problems(root))} == {"fog", "clean"}


VALUES = [2**60, 10**400, -1, 1.5, "1", None, True, [], {}, float("nan"), "\ud800"]


def test_values_of_any_type_are_reported_without_exception(dataset):
    root = dataset(containers=("folder",))
    text = (root / "manifest.json").read_text("utf-8")
    places = [
        lambda m, v: m.update(seed=v),
        lambda m, v: m["sets"][2]["stages"][0]["parameters"].update(amount=v),
        lambda m, v: m["recipe"].update(x=v),
        lambda m, v: m.update(digest=v),
    ]
    for change, value in product(places, VALUES):
        manifest = json.loads(text)
        change(manifest, value)
        (root / "manifest.json").write_text(json.dumps(manifest))
        assert "manifest.json" in problem_paths(verify_problems(root)), value


def test_unfinished_build_gives_advice(dataset, tmp_path):
    (tmp_path / "file").write_bytes(b"")
    root = dataset(containers=("folder",))
    (root / "manifest.json").unlink()
    assert problem_kinds(root) == {("manifest.json", "incomplete")}
    (root / ".corruptset/parts").mkdir(parents=True)
    places = {root: "To resume, run the same `corruptset build`", tmp_path / "nowhere": "nowhere"}
    for place, message in (places | {tmp_path / "file": "file"}).items():
        with pytest.raises(IncompleteBuild, match=message):
            verify_directory(place).raise_for_problems()


def test_all_problems_are_collected_and_raised_once_per_level(dataset):
    root = dataset()
    flip(root / PNG_IMAGE)
    assert verify_problems(root, level="structure") == verify_problems(root, level="sizes") == []
    assert problem_kinds(root, level="hashes") == {(PNG_IMAGE, "hash")}
    (root / OTHER_PNG).write_bytes(b"short")
    assert verify_problems(root, level="structure") == []
    assert problem_kinds(root, level="sizes") == {(OTHER_PNG, "size")}
    (root / "note.txt").write_bytes(b"")
    flip(root / SHARD)
    add_file(root, ".corruptset/repair/x")  # and a killed repair
    report = verify_directory(root)
    assert report.by_kind() == {"hash": 2, "size": 1, "unexpected": 2}
    assert (report.as_json()["ok"], len(report.as_json()["problems"])) == (False, 5)
    with pytest.raises(VerificationError) as exc_info:
        report.raise_for_problems()
    assert all(name in str(exc_info.value) for name in (PNG_IMAGE, OTHER_PNG, "note.txt", SHARD))
    with pytest.raises(ValueError, match="structure, sizes, hashes, pixels"):
        verify_directory(root, level="deep")


def test_rederive_is_called_only_on_valid_records(dataset):
    root = dataset(containers=("folder",))
    calls = []

    def rederive(data):
        calls.append(data["fog/3"].image(0).shape)
        return [Problem("sets/fog/3.jsonl", "rederive", "image 0 comes out otherwise")]

    assert [p.kind for p in verify_directory(root, rederive=rederive).problems] == ["rederive"]
    flip(root / "samples.jsonl", 0.01)
    verify_directory(root, rederive=rederive)
    assert calls == [(16, 20, 3)]


def test_nothing_outside_dataset_is_opened(dataset, monkeypatch):
    """No file outside of the dataset is opened, whatever the records contain."""
    root = dataset()
    write_outside_file(root)
    edit_shard(root, external_link)
    edit_lines(root / "sets/clean.jsonl", lambda rows: rows[0]["files"][0].update(path="../../secret.png"))
    (root / "images/clean/link.png").symlink_to(root.parent / "secret.png")
    opened_files = []
    for name in ("open", "read_bytes"):
        original = getattr(Path, name)
        monkeypatch.setattr(
            Path,
            name,
            lambda self, *a, original=original, **k: (
                opened_files.append(os.path.realpath(self)),
                original(self, *a, **k),
            )[1],
        )
    monkeypatch.setattr(socket, "socket", None)
    verify_directory(root)
    assert opened_files
    assert all(path.startswith(os.path.realpath(root) + os.sep) for path in opened_files), opened_files
