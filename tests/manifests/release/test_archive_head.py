"""Archives with forged records: unlisted members, and false rows and manifests."""

import hashlib
import json

import pytest
from packs import IMAGE, RECORD, TOP, check_unpack_fails, write_archive

from corruptset.manifests.release.unpack import unpack

UNNAMED = "(does not match the records|is not listed in the record)"
ROWS, SAMPLES, MANIFEST = (f"{TOP}/{name}" for name in ("sets/clean.jsonl", "samples.jsonl", "manifest.json"))


def test_valid_archive_is_accepted(valid_members, tmp_path):
    assert list(valid_members)[:2] == [RECORD, MANIFEST]
    assert unpack([write_archive(tmp_path / "a", list(valid_members.items()))], tmp_path / "out").sets == ["clean"]


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_unlisted_and_missing_members_are_rejected(valid_members, tmp_path):
    items = list(valid_members.items())
    extra = (f"{TOP}/setup.py", b"import os")
    changed = {
        "first": ([extra, *items], "begins with 'tiny-c-1.0.0/setup.py', but the first member must be"),
        **{f"at {at}": ([*items[:at], extra, *items[at:]], f"member '{TOP}/setup.py' .*{UNNAMED}") for at in (1, 2, 4)},
        "last": ([*items, extra], "is not listed in the record"),
        **{
            f"{name[-9:-5]} twice": ([*items, (name, valid_members[name])], UNNAMED)
            for name in (IMAGE, SAMPLES, MANIFEST)
        },
        "capitals": ([*items, (IMAGE.upper().replace(TOP.upper(), TOP), b"x")], UNNAMED),
        "none": ([], "is empty|is not a tar"),
        "too few": (items[:-1], "ends before"),
        "a gap": ([item for item in items if item[0] != IMAGE], UNNAMED),
        "headless": (items[1:], "the first member must be its record"),
    }
    for name in (IMAGE, SAMPLES, MANIFEST, ROWS):
        file, data = name.split("/")[-1], valid_members[name]
        other, longer = bytes([data[0] ^ 1]) + data[1:], data + b" "
        changed[f"other {file}"] = (list({**valid_members, name: other}.items()), f"{file}.*is recorded")
        changed[f"longer {file}"] = (list({**valid_members, name: longer}.items()), f"{file}.* bytes")
    for number, (members, message) in enumerate(changed.values()):
        check_unpack_fails(write_archive(tmp_path / str(number), members), tmp_path, message)
    content = write_archive(tmp_path / "cut", items).read_bytes()
    for at in (100, len(content) // 2, len(content) - 11_000):
        (tmp_path / "cut").write_bytes(content[:at])
        check_unpack_fails(tmp_path / "cut", tmp_path, "cut off|exceeds|truncated|ends before")


def seal_member(valid, name, data):
    """Replace a member, and update the records accordingly, as a forger can."""
    members = {**valid, name: data}
    manifest, record = json.loads(members[MANIFEST]), json.loads(members[RECORD])
    expected = {"bytes": len(data), "sha256": f"sha256:{hashlib.sha256(data).hexdigest()}"}
    if name not in (RECORD, MANIFEST):
        for files in (manifest["files"], record["files"]):
            next(f for f in files if f"{TOP}/{f['path']}" == name).update(expected)
        members[MANIFEST] = json.dumps(manifest).encode()
    original = members[MANIFEST]
    if record["files"] and record["files"][0]["path"] == "manifest.json":
        record["files"][0].update({"bytes": len(original), "sha256": f"sha256:{hashlib.sha256(original).hexdigest()}"})
    members[RECORD] = json.dumps(record).encode()
    return list(members.items())


def edit_member(valid, change, name):
    value = json.loads(valid[name])
    change(value)
    return seal_member(valid, name, json.dumps(value).encode())


def test_rows_with_outside_paths_are_rejected(valid_members, tmp_path):
    """Rows that refer to files in other folders, with members at these paths."""
    paths = {
        **dict.fromkeys(("../../escaped", "/tmp/escaped", "images/clean/../x"), "line 2"),
        **dict.fromkeys(("images/fog/3/x.png", ".corruptset/x"), "is not in the folder"),
        "images/clean/a\\nb.png": "control characters",
    }
    for number, (path, message) in enumerate(paths.items()):
        members = dict(
            seal_member(
                valid_members, ROWS, valid_members[ROWS].replace(IMAGE.removeprefix(f"{TOP}/").encode(), path.encode())
            )
        )
        members[f"{TOP}/{path}".replace("\\n", "\n")] = members.pop(IMAGE)
        names = list(members)
        first = names.index(ROWS) + 1
        moved = [(name, members[name]) for name in [*names[:first], *sorted(names[first:])]]
        check_unpack_fails(write_archive(tmp_path / f"a{number}", moved), tmp_path, message)
    rows = valid_members[ROWS].replace(b"bild eins.png", b"ZWEI.png")
    check_unpack_fails(
        write_archive(tmp_path / "capitals", seal_member(valid_members, ROWS, rows)), tmp_path, "ignoring case"
    )


def test_foreign_manifests_are_rejected(valid_members, tmp_path):
    changes = [
        (lambda m: m.update(name="../x"), "schema 3"),
        (lambda m: m.update(version="../../x"), "schema 3"),
        (lambda m: m.update(digest="sha256:" + "0" * 64), "contradicts the manifest"),
        (lambda m: m["sets"][0].update(id="../x"), "schema 3"),
        (lambda m: m["files"][0].update(path="../../x"), "schema 3"),
        (lambda m: m["classes"][0].update(folder=".."), "contradicts itself"),
    ]
    for number, (change, message) in enumerate(changes):
        check_unpack_fails(
            write_archive(tmp_path / f"a{number}", edit_member(valid_members, change, MANIFEST)), tmp_path, message
        )


def test_foreign_records_are_rejected(valid_members, tmp_path):
    def with_file(path):
        return lambda r: r["files"].append({**r["files"][1], "path": path})

    def without(path):
        return lambda r: r.update(files=[f for f in r["files"] if f["path"] != path])

    capitals = json.loads(valid_members[RECORD])["files"][1]["path"].swapcase()
    other = "lists files or sets that"
    changes = {
        "name": (lambda r: r.update(name="../x"), "not a valid record"),
        "a file outside": (with_file("../../x"), "not a valid record"),
        "a file in the work folder": (with_file(".corruptset/unpack.json"), other),
        "the marker of a part": (with_file("partial.json"), other),
        "twice": (lambda r: r["files"].append(r["files"][1]), UNNAMED),
        "capitals": (with_file(capitals), other),
        "no samples": (without("samples.jsonl"), UNNAMED),
        "no rows": (without("sets/clean.jsonl"), "clean.jsonl: cannot be read"),
        "no manifest": (without("manifest.json"), UNNAMED),
        "an unknown set": (lambda r: r["sets"][0].update(set="nothing"), other),
        "a set twice": (lambda r: r["sets"].append(r["sets"][0]), "ends before"),
        "more files": (lambda r: r["sets"][0].update(total=10**9, count=10**9), other),
        "beyond": (lambda r: r["sets"][0].update(first=3), other),
        "a field": (lambda r: r.update(run="rm -rf /"), "not a valid record"),
    }
    for number, (change, message) in enumerate(changes.values()):
        check_unpack_fails(
            write_archive(tmp_path / f"a{number}", edit_member(valid_members, change, RECORD)), tmp_path, message
        )
    unlisted = edit_member(valid_members, with_file("setup.py"), RECORD)  # and it exists after the rows
    unlisted.insert([name for name, _ in unlisted].index(ROWS) + 1, (f"{TOP}/setup.py", unlisted[2][1]))
    check_unpack_fails(write_archive(tmp_path / "unlisted", unlisted), tmp_path, other)
