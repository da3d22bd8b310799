"""SHA256SUMS: as sha256sum reads it."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from corruptset.manifests.checksums import parse_sha256sums, sha256sums_bytes
from corruptset.manifests.records.models import FileRecord

Make = Callable[..., Path]


def test_sha256sum_reads_what_is_written(templates: Make) -> None:
    root = templates()
    ended = subprocess.run(
        ["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=root, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    assert "manifest.json: OK" in ended.stdout
    recorded, mistakes = parse_sha256sums((root / "SHA256SUMS").read_bytes())
    assert not mistakes
    assert len(recorded) == ended.stdout.count("OK") == 16


def test_sha256sums_round_trip() -> None:
    records = [
        FileRecord(path=p, bytes=1, sha256="sha256:" + d * 64) for p, d in [("sets/b.jsonl", "1"), ("a b.png", "2")]
    ]
    data = sha256sums_bytes(records)
    assert data == f"{'2' * 64}  a b.png\n{'1' * 64}  sets/b.jsonl\n".encode()
    assert parse_sha256sums(data) == ({"a b.png": "sha256:" + "2" * 64, "sets/b.jsonl": "sha256:" + "1" * 64}, [])


@pytest.mark.parametrize(
    "data",
    [
        b"x\n",
        b"0" * 64 + b" a\n",
        b"0" * 64 + b"  a",
        b"G" * 64 + b"  a\n",
        (b"0" * 64 + b"  a\n") * 2,
        b"\n",
        b"\xff\n",
    ],
)
def test_bad_sums_are_named(data: bytes) -> None:
    _, mistakes = parse_sha256sums(data)
    assert [m for m in mistakes if "line" in m]
