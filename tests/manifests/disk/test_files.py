"""Files: atomic writes, JSON lines, manifest.json, SHA256SUMS."""

from __future__ import annotations

import json
import os
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from corruptset.errors import IncompleteBuild, VerificationError
from corruptset.manifests.checksums import parse_sha256sums, read_sha256sums, sha256sums_bytes
from corruptset.manifests.disk import atomic as files
from corruptset.manifests.disk.atomic import write_atomic
from corruptset.manifests.disk.jsonl import read_jsonl, write_jsonl
from corruptset.manifests.manifest_file import load_manifest, manifest_bytes, parse_manifest
from corruptset.manifests.records.models import FileRecord, Manifest, SampleRecord

Make = Callable[..., Path]
ZERO = "sha256:" + "0" * 64


def test_atomic_write_replaces_and_leaves_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "ü b.json"
    write_atomic(path, b"one")
    write_atomic(path, memoryview(b"another"))
    assert path.read_bytes() == b"another"
    assert [p.name for p in tmp_path.iterdir()] == ["ü b.json"]


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_atomic_write_follows_the_umask(tmp_path: Path, umask: int, mode: int) -> None:
    before = os.umask(umask)
    try:
        write_atomic(tmp_path / "a", b"")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == mode


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_failing_disk_leaves_the_old_file(tmp_path: Path, step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a"
    write_atomic(path, b"old")

    def fail(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(OSError, match="No space"):
        write_atomic(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_atomic_write_is_on_disk_before_it_takes_the_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[str] = []
    real = os.fsync, os.replace
    monkeypatch.setattr(
        os, "fsync", lambda fd: (steps.append("fsync " + ("folder" if stat.S_ISDIR(os.fstat(fd).st_mode) else "file")), real[0](fd))
    )
    monkeypatch.setattr(
        os, "replace", lambda a, b: (steps.append(f"replace {Path(a).suffix} {Path(a).parent == Path(b).parent}"), real[1](a, b))
    )
    write_atomic(tmp_path / "a", b"x" * 100_000)
    assert steps == ["fsync file", "replace .part True", "fsync folder"]


def sample(index: int, id: str) -> SampleRecord:
    return SampleRecord(
        index=index,
        id=id,
        label=0,
        split=None,
        path=None,
        sha256=ZERO,
        width=8,
        height=8,
        pixels="blake3:" + "0" * 64,
        **{"class": "käfer"},
    )


def test_jsonl_round_trip(tmp_path: Path) -> None:
    rows = [sample(0, "a b"), sample(1, 'ü\n"\\\u2028')]
    write_jsonl(tmp_path / "x/y.jsonl", rows)
    data = (tmp_path / "x/y.jsonl").read_bytes()
    assert data.count(b"\n") == 2
    assert "käfer".encode() in data
    assert list(json.loads(data.split(b"\n")[0])) == [
        "index",
        "id",
        "label",
        "class",
        "split",
        "path",
        "sha256",
        "width",
        "height",
        "pixels",
    ]
    assert list(read_jsonl(tmp_path / "x/y.jsonl", SampleRecord)) == rows
    write_jsonl(tmp_path / "empty", [])
    assert list(read_jsonl(tmp_path / "empty", SampleRecord)) == []


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda d: d[:-1], "line 2: does not end"),
        (lambda d: d + b"\n", "line 3"),
        (lambda d: d.replace(b'"index": 1', b'"index": "1"'), "line 2: index: Input should be a valid integer"),
        (lambda d: d.replace(b'"label": 0', b'"label": -1'), "line 1: label"),
        (lambda d: d.replace(b'"index": 0', b'"index": 0, "more": 0'), "line 1: more: Extra inputs"),
        (lambda d: d.replace(b"bl", b"\xff\xfe"), "line 1"),
        (lambda d: d.replace(b"a b", b"a" * (1 << 20)), "line 1: is longer"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, change: Callable[[bytes], bytes], says: str) -> None:
    path = tmp_path / "samples.jsonl"
    write_jsonl(path, [sample(0, "a b"), sample(1, "c")])
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(VerificationError, match=says) as caught:
        list(read_jsonl(path, SampleRecord))
    assert str(path) in str(caught.value)


def test_a_missing_jsonl_is_named(tmp_path: Path) -> None:
    with pytest.raises(VerificationError, match=r"nowhere.jsonl: cannot be read"):
        list(read_jsonl(tmp_path / "nowhere.jsonl", SampleRecord))


def test_manifest_round_trip(templates: Make) -> None:
    data = (templates() / "manifest.json").read_bytes()
    manifest = parse_manifest(data)
    assert manifest_bytes(manifest) == data
    assert load_manifest(templates()) == manifest
    assert load_manifest(str(templates())) == manifest
    assert data.endswith(b"}\n")
    assert b'\n  "schema_version": 2,\n' in data
    assert "käfer".encode() in data


def test_equal_manifests_have_equal_bytes(templates: Make) -> None:
    value = json.loads((templates() / "manifest.json").read_bytes())

    def turned(v: Any) -> Any:
        if isinstance(v, dict):
            return {k: turned(v[k]) for k in reversed(v)}
        return [turned(x) for x in v] if isinstance(v, list) else v

    assert manifest_bytes(Manifest(**turned(value))) == manifest_bytes(Manifest(**value))


def test_fields_come_in_the_order_of_the_design(templates: Make) -> None:
    wanted = """
        schema_version name version digest seed coupling scale recipe source preprocessing encoding textures revisions classes sets
        files excluded selection views environment
    """
    assert list(json.loads((templates() / "manifest.json").read_bytes())) == wanted.split()


def test_all_wrong_fields_are_listed_at_once(dataset: Make) -> None:
    root = dataset()
    value = json.loads((root / "manifest.json").read_bytes())
    value["seed"] = -1
    value["sets"][1]["role"] = "exam"
    value["files"][0]["path"] = "../x"
    del value["name"]
    value["colour"] = 1
    (root / "manifest.json").write_text(json.dumps(value))
    with pytest.raises(VerificationError) as caught:
        load_manifest(root)
    for says in ["seed: ", "sets[1].role: ", "files[0].path: ", "name: Field required", "colour: Extra", str(root)]:
        assert says in str(caught.value)


def test_incomplete_builds_say_how_to_go_on(tmp_path: Path, templates: Make) -> None:
    build = tmp_path / "out/imagenet-c-1.0.0"
    (build / ".corruptset").mkdir(parents=True)
    (build / ".corruptset/build.json").touch()
    with pytest.raises(IncompleteBuild, match=r"incomplete build.*Resume it by running the same `corruptset build` command"):
        load_manifest(build)
    with pytest.raises(IncompleteBuild, match="does not exist"):
        load_manifest(tmp_path / "nowhere")
    # the directory that was meant, one below
    with pytest.raises(IncompleteBuild, match=r"Perhaps .*tiny-c-1\.0\.0 was meant"):
        load_manifest(templates().parent)


def test_a_huge_manifest_is_not_read(dataset: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    root = dataset()
    monkeypatch.setattr(files, "MANIFEST_CAP", 1000)
    with pytest.raises(VerificationError, match="at most 1000"):
        load_manifest(root)


def test_sha256sum_reads_what_is_written(templates: Make) -> None:
    root = templates()
    ended = subprocess.run(["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=root, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert "manifest.json: OK" in ended.stdout
    assert len(read_sha256sums(root)) == ended.stdout.count("OK") == 16


def test_sha256sums_round_trip() -> None:
    records = [FileRecord(path=p, bytes=1, sha256="sha256:" + d * 64) for p, d in [("sets/b.jsonl", "1"), ("a b.png", "2")]]
    data = sha256sums_bytes(records)
    assert data == f"{'2' * 64}  a b.png\n{'1' * 64}  sets/b.jsonl\n".encode()
    assert parse_sha256sums(data) == ({"a b.png": "sha256:" + "2" * 64, "sets/b.jsonl": "sha256:" + "1" * 64}, [])


@pytest.mark.parametrize(
    "data", [b"x\n", b"0" * 64 + b" a\n", b"0" * 64 + b"  a", b"G" * 64 + b"  a\n", (b"0" * 64 + b"  a\n") * 2, b"\n", b"\xff\n"]
)
def test_bad_sums_are_named(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "SHA256SUMS").write_bytes(data)
    with pytest.raises(VerificationError, match="line"):
        read_sha256sums(tmp_path)
