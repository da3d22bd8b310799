"""Archives of strangers, as records: members that nothing names, rows, manifests and records that lie."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from packs import IMAGE, RECORD, TOP, Members, refused, write_archive

from corruptset.manifests.release.unpack import unpack


def test_the_archive_that_the_others_are_made_from_is_good(good: Members, tmp_path: Path) -> None:
    assert list(good)[:2] == [RECORD, f"{TOP}/manifest.json"]
    assert unpack([write_archive(tmp_path / "a", list(good.items()))], tmp_path / "out").sets == ["clean"]


@pytest.mark.parametrize("at", [0, 1, 2, 4, -1])
def test_a_member_that_nothing_names(good: Members, tmp_path: Path, at: int) -> None:
    members = list(good.items())
    members.insert(at if at >= 0 else len(members), (f"{TOP}/setup.py", b"import os"))
    refused(write_archive(tmp_path / "a", members), tmp_path, rf"member '{TOP}/setup.py' is not what the records name")


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_duplicates_and_names_that_differ_in_capitals(good: Members, tmp_path: Path) -> None:
    for number, name in enumerate([IMAGE, f"{TOP}/samples.jsonl", f"{TOP}/manifest.json"]):
        members = [*good.items(), (name, good[name])]
        refused(write_archive(tmp_path / f"d{number}", members), tmp_path, "is not what the records name")
    refused(
        write_archive(tmp_path / "c", [*good.items(), (IMAGE.upper().replace(TOP.upper(), TOP), b"x")]),
        tmp_path,
        "is not what the records name",
    )


def test_missing_moved_and_cut_members(good: Members, tmp_path: Path) -> None:
    items = list(good.items())
    refused(write_archive(tmp_path / "none", []), tmp_path, "is not a tar|is empty|cut off")
    refused(write_archive(tmp_path / "short", items[:-1]), tmp_path, "ends before")
    refused(
        write_archive(tmp_path / "gap", [i for i in items if i[0] != IMAGE]), tmp_path, "is not what the records name"
    )
    refused(write_archive(tmp_path / "headless", items[1:]), tmp_path, "which says what is in it")
    for number, name in enumerate((IMAGE, f"{TOP}/samples.jsonl", f"{TOP}/manifest.json", f"{TOP}/sets/clean.jsonl")):
        other = bytes([good[name][0] ^ 1]) + good[name][1:]
        refused(
            write_archive(tmp_path / f"x{number}", list({**good, name: other}.items())),
            tmp_path,
            f"{name.split('/')[-1]}.*recorded is",
        )
        longer = good[name] + b" "
        refused(
            write_archive(tmp_path / f"l{number}", list({**good, name: longer}.items())),
            tmp_path,
            f"{name.split('/')[-1]}.* bytes",
        )
    whole = write_archive(tmp_path / "cut", items).read_bytes()
    for at in (100, len(whole) // 2, len(whole) - 11_000):
        (tmp_path / "cut").write_bytes(whole[:at])
        refused(tmp_path / "cut", tmp_path, "cut off|beyond|is not a tar|ends before")


def sealed(good: Members, name: str, data: bytes) -> Members:
    """Replace a member and make the records agree with it, as a stranger can."""
    members = dict(good)
    members[name] = data
    manifest = json.loads(members[f"{TOP}/manifest.json"])
    record = json.loads(members[RECORD]) if name != RECORD else json.loads(data)
    said = {"bytes": len(data), "sha256": f"sha256:{hashlib.sha256(data).hexdigest()}"}
    if name not in (RECORD, f"{TOP}/manifest.json"):
        for files in (manifest["files"], record["files"]):
            next(f for f in files if f"{TOP}/{f['path']}" == name).update(said)
        members[f"{TOP}/manifest.json"] = json.dumps(manifest).encode()
    whole = members[f"{TOP}/manifest.json"]
    record["files"][0].update({"bytes": len(whole), "sha256": f"sha256:{hashlib.sha256(whole).hexdigest()}"})
    members[RECORD] = json.dumps(record).encode()
    return members


def edited(good: Members, change: Callable[[Any], None], name: str = f"{TOP}/manifest.json") -> list[tuple[str, bytes]]:
    value = json.loads(good[name])
    change(value)
    return list(sealed(good, name, json.dumps(value).encode()).items())


@pytest.mark.parametrize(
    "path",
    [
        "../../escaped",
        "/tmp/escaped",
        "manifest.json",
        "images/fog/3/x.png",
        ".corruptset/x",
        "images/clean/a\nb.png",
        "images/clean/../x",
    ],
)
def test_rows_that_lead_elsewhere(good: Members, tmp_path: Path, path: str) -> None:
    rows = good[f"{TOP}/sets/clean.jsonl"].replace(
        "images/clean/0_käfer/zwei.png".encode(), path.replace("\n", "\\n").encode()
    )
    refused(
        write_archive(tmp_path / "a", list(sealed(good, f"{TOP}/sets/clean.jsonl", rows).items())),
        tmp_path,
        "line 2|not below|records name",
    )


def test_rows_that_differ_in_capitals_alone(good: Members, tmp_path: Path) -> None:
    rows = good[f"{TOP}/sets/clean.jsonl"].replace(b"bild eins.png", b"ZWEI.png")
    refused(
        write_archive(tmp_path / "a", list(sealed(good, f"{TOP}/sets/clean.jsonl", rows).items())),
        tmp_path,
        "capitals aside",
    )


MANIFESTS: dict[str, tuple[Callable[[Any], None], str]] = {
    "name": (lambda m: m.update(name="../x"), "schema 2"),
    "version": (lambda m: m.update(version="../../x"), "schema 2"),
    "digest": (lambda m: m.update(digest="sha256:" + "0" * 64), "another data set"),
    "set id": (lambda m: m["sets"][0].update(id="../x"), "schema 2"),
    "file": (lambda m: m["files"][0].update(path="../../x"), "schema 2"),
    "class": (lambda m: m["classes"][0].update(folder=".."), "contradicts itself"),
    "view": (
        lambda m: (
            m["encoding"].update(containers=["view"]),
            m.update(views=[{"view": "x", "sets": {s["id"]: ["../x"] for s in m["sets"]}}]),
        ),
        "schema 2",
    ),
    "view inside": (
        lambda m: (
            m["encoding"].update(containers=["view"]),
            m.update(views=[{"view": "x", "sets": {s["id"]: [".corruptset"] for s in m["sets"]}}]),
        ),
        "contradicts itself",
    ),
}


@pytest.mark.parametrize("what", MANIFESTS)
def test_manifests_of_strangers(good: Members, tmp_path: Path, what: str) -> None:
    change, said = MANIFESTS[what]
    refused(write_archive(tmp_path / "a", edited(good, change)), tmp_path, said)


RECORDS: dict[str, tuple[Callable[[Any], None], str]] = {
    "name": (lambda r: r.update(name="../x"), "not a record"),
    "archive": (lambda r: r.update(archive="other"), "archive other"),
    "file out": (lambda r: r["files"].append({**r["files"][1], "path": "../../x"}), "not a record"),
    "file in the work folder": (
        lambda r: r["files"].append({**r["files"][1], "path": ".corruptset/unpack.json"}),
        "does not list",
    ),
    "marker": (lambda r: r["files"].append({**r["files"][1], "path": "partial.json"}), "does not list"),
    "unlisted file": (lambda r: r["files"].append({**r["files"][1], "path": "setup.py"}), "does not list"),
    "twice": (lambda r: r["files"].append(r["files"][1]), "names a file twice"),
    "capitals": (
        lambda r: r["files"].append({**r["files"][1], "path": r["files"][1]["path"].swapcase()}),
        "capitals alone",
    ),
    "no samples": (lambda r: r.update(files=[f for f in r["files"] if f["path"] != "samples.jsonl"]), "does not name"),
    "unknown set": (lambda r: r["units"][0].update(sets=["nothing"]), "manifest has not"),
    "no sets": (lambda r: r["units"][0].update(sets=[]), "manifest has not"),
    "a set twice": (lambda r: r["units"].append(r["units"][0]), "or twice"),
    "more files": (lambda r: r["units"][0].update(total=10**9, count=10**9), "which has 5"),
    "beyond": (lambda r: r["units"][0].update(first=3), "names files 3 to 8"),
    "no manifest": (lambda r: r["files"].pop(0), "does not name manifest.json first|capitals|recorded"),
    "a field": (lambda r: r.update(run="rm -rf /"), "not a record"),
}


@pytest.mark.parametrize("what", RECORDS)
def test_records_of_strangers(good: Members, tmp_path: Path, what: str) -> None:
    change, said = RECORDS[what]
    if what == "no manifest":
        value = json.loads(good[RECORD])
        change(value)
        members = {**good, RECORD: json.dumps(value).encode()}
        refused(write_archive(tmp_path / "a", list(members.items())), tmp_path, said)
    else:
        refused(write_archive(tmp_path / "a", edited(good, change, RECORD)), tmp_path, said)
