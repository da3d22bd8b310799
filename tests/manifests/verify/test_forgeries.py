"""Records, shards and images that are changed together with all hashes, as a careful forger would do."""

import io
import json
import shutil

import h5py
import numpy as np
import pytest
from damage import (
    JPEG_IMAGE,
    OTHER_PNG,
    PNG_IMAGE,
    SHARD,
    assign_value,
    edit_lines,
    edit_manifest,
    edit_shard,
    external_link,
    external_storage,
    flip,
    problem_paths,
    replace_column,
    soft_link,
    swap_classes,
    update_digest,
    verify_problems,
    virtual_dataset,
)
from PIL import Image

from corruptset.manifests.records.digests import sha256_bytes
from corruptset.manifests.records.report import Problem
from corruptset.manifests.verify import sets
from corruptset.manifests.verify.directory import verify_directory

ROWS = "sets/fog/3.jsonl"
ONE_SHARD = "hdf5/fog/3-00000.h5"
"""Of a set whose five rows are in one shard."""
ZERO = "sha256:" + "0" * 64
JPEG = {"format": "jpeg", "quality": 85, "optimize": False, "subsampling": "4:2:0"}


def seal(root):
    edit_manifest(root, lambda m: None, reseal=True)


def forge(root, change):
    """Change the rows of a set, update its totals and all hashes except the digests of pixels, and verify."""
    edit_lines(root / ROWS, change)
    rows = [json.loads(line) for line in (root / ROWS).read_text("utf-8").splitlines()]
    files = [f for r in rows for f in r["files"]]
    totals = {"count": len(rows), "files": len(files), "bytes": sum(f["bytes"] for f in files)}
    edit_manifest(root, lambda m: m["sets"][2].update(totals), reseal=True)
    return verify_problems(root)


def store_row(root, path, data, row=None):
    """Replace the bytes of an image, update its records, and verify."""

    def change(rows):
        (file,) = (f for r in rows for f in r["files"] if (f["path"], f["row"]) == (path, row))
        file.update(bytes=len(data), sha256=sha256_bytes(data))

    return forge(root, change)


# tests/faults/test_damage.py changes every single value
MANIFEST_EDITS = {
    "recipe's preprocessing": lambda m: m["recipe"].update(preprocessing={"kind": "resize"}),
    "recipe's stages": lambda m: m["recipe"].update(sets=[{"id": "fog/3", "stages": []}]),
    "set dropped": lambda m: m["sets"].pop(0),
    "set renamed": lambda m: m["sets"][2].update(id="fog/4"),
    "sets unsorted": lambda m: m["sets"].reverse(),
    "alias twice": lambda m: m["sets"][1].update(aliases=["original"]),
    "alias as id": lambda m: m["sets"][1].update(aliases=["clean"]),
    "revisions": lambda m: m["revisions"].update(fog=2),
    "revision extra": lambda m: m["revisions"].update(snow=2),
    "class folder climbs": lambda m: m["classes"][0].update(folder=".."),
    "class folders alike": lambda m: m["classes"][1].update(folder="0_KÄFER"),
    "file dropped": lambda m: m["files"].pop(0),
    "rows dropped": lambda m: m.update(files=[f for f in m["files"] if f["path"] != ROWS]),
    "file twice": lambda m: m["files"].append(m["files"][-1]),
    "file invented": lambda m: m["files"].append({"path": "zzz", "bytes": 0, "sha256": ZERO}),
    "image among files": lambda m: m["files"].insert(2, {"path": PNG_IMAGE, "bytes": 0, "sha256": ZERO}),
    "encoding": lambda m: m["encoding"].update(JPEG),
    "containers": lambda m: m["storage"].update(container="both"),
}


def test_edited_manifest_is_found_with_and_without_matching_hashes(dataset):
    for name, change in MANIFEST_EDITS.items():
        root = dataset(containers=("folder",))
        edit_manifest(root, change)
        assert "manifest.json" in problem_paths(verify_problems(root, level="structure"), "hash"), name
        seal(root)
        problems = verify_problems(root)
        assert problems, name
        assert "manifest.json" not in problem_paths(problems, "hash"), name
    # types are not converted, and control characters do not appear in messages
    steering = {"path": "a\x1b[2J\nb", "bytes": 1, "sha256": ZERO, "\x1b[31m": 0}
    for change in (
        lambda m: m.update(seed="7"),
        lambda m: m["sets"][1]["stages"][0].update(revision=True),
        lambda m: m["files"].append(steering),
    ):
        root = dataset(containers=("folder",))
        edit_manifest(root, change, reseal=True)
        assert {(p.path, p.kind, str(p).isprintable()) for p in verify_problems(root)} == {
            ("manifest.json", "schema", True)
        }


STRANGE = ("../secret.png", "contact.png", OTHER_PNG, "images/fog/3")
ROW_EDITS = {
    "order": lambda rows: rows[::-1],
    "dropped": lambda rows: rows[:-1],
    "doubled": lambda rows: [*rows, rows[-1]],
    "pixels": lambda rows: rows[0].update(pixels="blake3:" + "0" * 64),
    "sha256 of a file": lambda rows: rows[0]["files"][0].update(sha256=ZERO),
    "sha256 of a row": lambda rows: rows[0]["files"][1].update(sha256=ZERO),
    "bytes of a file": lambda rows: rows[0]["files"][0].update(bytes=1),
    "row beyond": lambda rows: rows[4]["files"][1].update(row=9),
    "shard": lambda rows: rows[0]["files"][1].update(path="hdf5/clean-00000.h5"),
    "container": lambda rows: rows[0]["files"].pop(),
    "no container": lambda rows: rows[0].update(files=[]),
    **{f"path {p!r}": lambda rows, p=p: rows[3]["files"][0].update(path=p) for p in STRANGE},
}
SAMPLE_EDITS = {
    "order": lambda rows: rows[::-1],
    "dropped": lambda rows: rows[:-1],
    "label": lambda rows: rows[0].update({"label": 1, "class": "a dog"}),
    "label beyond": lambda rows: rows[0].update(label=7),
    "id": lambda rows: rows[0].update(id="x"),
    "sha256": lambda rows: rows[0].update(sha256=ZERO),
    "label null": lambda rows: rows[0].update({"label": None, "class": None}),
}


def test_edited_rows_with_matching_hashes_are_found(dataset):
    for name, change in ROW_EDITS.items():
        root = dataset(shard_rows=5)
        edit_lines(root / ROWS, change)
        seal(root)
        problems = verify_problems(root)
        assert problems, name
        assert all("fog/3" in p for p in problem_paths(problems)), (name, problems)
    for name, change in SAMPLE_EDITS.items():
        root = dataset(containers=("folder",))
        edit_lines(root / "samples.jsonl", change)
        seal(root)
        assert "samples.jsonl" in problem_paths(verify_problems(root, level="structure")), name


def test_exchanged_sets_and_classes_are_found(dataset):
    root = dataset(containers=("folder",))
    one, other = root / ROWS, root / "sets/clean.jsonl"
    one.rename(root / "aside")
    other.rename(one)
    (root / "aside").rename(other)
    seal(root)
    problems = verify_problems(root)
    assert problem_paths(problems, "digest") == problem_paths(problems, "records") == {ROWS, "sets/clean.jsonl"}
    for field in ("name", "folder"):
        root = dataset(containers=("hdf5",))
        swap_classes(root, field)
        (problem,) = verify_problems(root)
        assert (problem.path, problem.kind) == ("manifest.json", "digest")
    root = dataset(containers=("folder",))
    new = "images/fog/3/0_käfer/Ünal 7.png"
    (root / PNG_IMAGE).rename(root / new)
    (problem,) = forge(root, lambda rows: rows[3]["files"][0].update(path=new))
    assert (problem.path, problem.kind) == (ROWS, "records")
    assert "images/fog/3/1 a dog/" in problem.detail


def test_duplicate_ids_and_duplicate_or_unsafe_paths_are_found(dataset):
    def path(value):
        return lambda rows: rows[1].update(path=value)

    unsafe_paths = ("../up.jpg", "a/../../up.jpg", "/etc/passwd", "a\\b.jpg", "C:/x.jpg", "")
    cases = [
        (lambda rows: rows[1].update(id=rows[0]["id"].upper()), "ignoring case"),
        (lambda rows: rows[1].update(path=rows[0]["path"]), "two images have the path"),
        *((path(value), f"the path {value!r} is not a relative path inside") for value in unsafe_paths),
        *((path(value), None) for value in ("12:30/a b.jpg", "..a/b..jpg", None)),
    ]
    for change, message in cases:
        root = dataset(containers=("hdf5",), shard_rows=5)
        edit_lines(root / "samples.jsonl", change)
        update_digest(root)
        problems = verify_problems(root)
        assert len(problems) == (message is not None), message
        for problem in problems:
            assert (problem.path, problem.kind) == ("samples.jsonl", "records")
            assert str(message) in problem.detail


def test_duplicate_key_is_found(dataset):
    cases = [("manifest.json", key, "") for key in ("seed", "pixel_digest", "amount")]
    cases += [("samples.jsonl", "label", "line 1: "), (ROWS, "row", "line 1: ")]
    for path, key, detail in cases:
        root = dataset(containers=("folder",))
        text = (root / path).read_text("utf-8")
        (root / path).write_text(text.replace(f'"{key}": ', f'"{key}": null, "{key}": ', 1), "utf-8")
        if path != "manifest.json":
            seal(root)
        message = f"{detail}the key '{key}' occurs more than once in one object"
        assert Problem(path, "schema", message) in verify_problems(root, level="structure")
    # escaped quotation marks in a name must not compensate for those of a key
    root = dataset(containers=("folder",))
    path = root / "samples.jsonl"
    quoted = path.read_text("utf-8").replace('"path": "', '"path": "' + "\\u0022" * 2, 1)
    for text, kinds in ((quoted.replace('"label": 0', '"label": 1, "label": 0', 1), {"schema"}), (quoted, set())):
        path.write_text(text, "utf-8")
        seal(root)
        assert {p.kind for p in verify_problems(root)} == kinds


def test_different_bytes_and_pixels_with_matching_hashes_are_found(dataset):
    root, jpeg = dataset(containers=("folder",)), dataset(encoding_format="jpeg")
    other = (root / OTHER_PNG).read_bytes()
    invalid = [
        (other, "pixels"),
        ((jpeg / JPEG_IMAGE).read_bytes(), "decode"),
        (other[: len(other) // 2], "decode"),
        (b"", "decode"),
    ]
    for data, kind in invalid:
        (root / PNG_IMAGE).write_bytes(data)
        problems = store_row(root, PNG_IMAGE, data)
        assert [(p.path, p.kind) for p in problems] == [(PNG_IMAGE, kind)]
        assert verify_problems(root, level="hashes") == []
    # both are valid and recorded, but the file and the shard have different bytes
    out = io.BytesIO()
    Image.open(jpeg / JPEG_IMAGE).save(out, "JPEG", quality=30)
    (jpeg / JPEG_IMAGE).write_bytes(out.getvalue())
    problems = store_row(jpeg, JPEG_IMAGE, out.getvalue())
    assert problems == [Problem(ROWS, "records", "row 3 has different bytes in its two containers")]
    root = dataset(containers=("hdf5",))
    with h5py.File(root / SHARD, "r+") as f:
        f["images"][1, 0, 0, 0] ^= 1
        data = f["images"][1].tobytes()
    (problem,) = store_row(root, SHARD, data, 1)
    assert (problem.path, problem.kind) == (f"{SHARD}#1", "pixels")
    root = dataset(encoding_format="jpeg", containers=("hdf5",))
    with h5py.File(root / SHARD, "r+") as f:
        f["encoded"][0] = f["encoded"][0][:-30]
        data = f["encoded"][0].tobytes()
    (problem,) = store_row(root, SHARD, data, 0)
    assert (problem.path, problem.kind) == (f"{SHARD}#0", "decode")


def longer(f):
    for name in ("images", "labels", "index", "pixel_digest"):
        values = f[name][()]
        del f[name]
        f.create_dataset(name, data=np.concatenate([values, values[-1:]]), track_times=False)


SHARD_EDITS = [
    (assign_value("images", 3), "hash", ""),
    (assign_value("labels", 1), "records", ""),
    (assign_value("index", 1), "records", ""),
    (replace_column("images"), "decode", ""),
    (replace_column("labels", data=np.ones(5)), "decode", ""),
    (replace_column("pixel_digest", data=np.zeros((5, 16), np.uint8)), "decode", ""),
    (longer, "shape", "has 6 rows, but 5 are recorded"),
    (replace_column("images", data=np.zeros((1, 16, 20, 3), np.uint8)), "missing", ""),
    (replace_column("images", data=np.zeros((5, 8, 20, 3), np.uint8)), "size", ""),
    # a bomb is refused before any byte of it is read
    (replace_column("images", shape=(5, 2**20, 2**20, 3), chunks=(1, 64, 64, 3), dtype=np.uint8), "decode", "states"),
    (external_link, "decode", "is a link"),
    (external_storage, "decode", "stored in other files"),
    (virtual_dataset, "decode", "stored in other files"),
    (soft_link, "decode", "is a link"),
]


def test_edited_shards_with_matching_hashes_are_found(dataset):
    for number, (change, kind, message) in enumerate(SHARD_EDITS):
        root = dataset(containers=("hdf5",), shard_rows=5)
        edit_shard(root, change, ONE_SHARD)
        problems = verify_problems(root)
        assert {p.path.partition("#")[0] for p in problems} == {ONE_SHARD}, number
        assert any(p.kind == kind and message in p.detail for p in problems), (number, problems)
        assert kind not in ("decode", "records") or not message or len(problems) == 1, (number, problems)


def test_misplaced_shard_rows_are_found(dataset):
    cases = [
        (lambda rows: rows[3]["files"][0].update(row=0), f"row 3 is stored in row 0 of {SHARD}, like another row"),
        (lambda rows: rows[3]["files"][0].update(row=5), f"the recorded rows of {SHARD} are not 0 to 1"),
    ]
    for path in ("hdf5/clean-00002.h5", "hdf5/fog/3-00007.h5"):
        message = f"row 4 is stored in {path}, which the manifest does not list as a shard of this set"
        cases.append((lambda rows, path=path: rows[4]["files"][0].update(path=path), message))
    for change, message in cases:
        assert (ROWS, message) in {(p.path, p.detail) for p in forge(dataset(containers=("hdf5",)), change)}

    def exchange(rows):
        rows[2]["files"][0]["row"], rows[3]["files"][0]["row"] = 1, 0

    # both images exist with their hashes, but each has the index of the other
    problems = forge(dataset(containers=("hdf5",)), exchange)
    assert {p.path for p in problems} == {f"{SHARD}#0", f"{SHARD}#1"}
    assert sum("index" in p.detail for p in problems) == 2
    root = dataset(shard_rows=5)
    strays = dict.fromkeys(("hdf5/notes.h5", "hdf5/snow/3-00000.h5"), "a shard that belongs to no set")
    strays["hdf5/fog/3-00009.h5"] = "no record of set fog/3 refers to this shard"
    for name in strays:
        (root / name).parent.mkdir(exist_ok=True)
        shutil.copyfile(root / ONE_SHARD, root / name)
    added = [{"path": name, "bytes": 0, "sha256": ZERO} for name in strays]
    edit_manifest(root, lambda m: m.update(files=sorted([*m["files"], *added], key=lambda f: f["path"])), reseal=True)
    assert verify_problems(root) == sorted(Problem(name, "unexpected", message) for name, message in strays.items())


@pytest.mark.ci
def test_several_processes_find_same_problems(dataset, monkeypatch):
    """Twice, named from another directory each time, as a notebook does: workers of the first call are there still. Of
    fifteen rows, which two slices share, none is left out.
    """
    monkeypatch.setattr(sets, "SLICE_ROWS", 3)
    for damaged in (False, True):
        root = dataset(repeat=3, shard_rows=5)
        monkeypatch.chdir(root.parent)
        names = (
            {path.relative_to(root).as_posix() for path in (root / "images/fog/3").rglob("*.png")} if damaged else set()
        )
        for path in names:
            flip(root / path)
        for shard in [f"hdf5/fog/3-0000{n}.h5" for n in range(3)] if damaged else ():
            edit_shard(root, lambda f: f["images"].write_direct(f["images"][...] ^ 1), shard)
            names |= {f"{shard}#{row}" for row in range(5)}
        one = verify_directory(root.name)
        assert {(p.path, p.kind) for p in one.problems} == {(name, "hash") for name in names}
        assert verify_directory(root.name, jobs=3).as_json() == one.as_json()
