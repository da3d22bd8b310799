"""Streams against stream.json: each way in which one can be damaged is named, and nothing else is."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from streams import made_accuracies, small_stream

import corruptset
from corruptset.errors import IncompleteBuild, ParameterError
from corruptset.generate.streams.stream import stream
from corruptset.manifests.checksums import sha256sums_bytes
from corruptset.manifests.records.digests import sha256_bytes
from corruptset.manifests.records.models import FileRecord
from corruptset.manifests.verify.streams import StreamRecord


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    recipe = small_stream(length=5, tar=3)
    out = tmp_path_factory.mktemp("stream")
    return stream(recipe, "sample", out, accuracies=made_accuracies(recipe), samples=2, jobs=1).directory


@pytest.fixture
def copy(sound: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(sound, tmp_path / "s"))


def found(directory: Path) -> list[tuple[str, str]]:
    return [(p.kind, p.path) for p in corruptset.verify(directory, progress=False).problems]


def test_a_sound_one(sound: Path) -> None:
    report = corruptset.verify(sound, progress=False)
    assert report.ok
    assert (report.level, report.digest) == ("hashes", json.loads((sound / "stream.json").read_text())["digest"])
    counts = {"sets": 0, "samples": 2, "files": 5, "images": 5, "rederived": 0}
    assert report.checked == counts | {"bytes": sum(p.stat().st_size for p in sound.glob("s*[rl]"))}


def changed(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


DAMAGE: dict[str, tuple[Callable[[Path], object], list[tuple[str, str]]]] = {
    "a tar is gone": (lambda d: (d / "serial_00001.tar").unlink(), [("missing", "serial_00001.tar")]),
    "a tar is short": (lambda d: (d / "serial_00001.tar").write_bytes(b""), [("size", "serial_00001.tar")]),
    "a bit of a tar": (lambda d: changed(d / "serial_00000.tar"), [("hash", "serial_00000.tar")]),
    "a file too many": (lambda d: (d / "serial_00002.tar").touch(), [("unexpected", "serial_00002.tar")]),
    "a folder too many": (lambda d: (d / "more").mkdir(), [("unexpected", "more")]),
    "the work folder": (lambda d: (d / ".corruptset").mkdir(), [("unexpected", ".corruptset")]),
    "no sums": (lambda d: (d / "SHA256SUMS").unlink(), [("missing", "SHA256SUMS")]),
    "sums of less": (lambda d: (d / "SHA256SUMS").write_text((d / "SHA256SUMS").read_text()[70:]), [("records", "SHA256SUMS")]),
    "no samples": (lambda d: (d / "samples.jsonl").unlink(), [("missing", "samples.jsonl")]),
    "no stream": (lambda d: (d / "stream.json").write_text("{}"), [("schema", "stream.json")] * (len(StreamRecord.model_fields))),
    "a changed stream": (
        lambda d: (d / "stream.json").write_text((d / "stream.json").read_text().replace('"small"', '"other"')),
        [("hash", "stream.json")],
    ),
}


@pytest.mark.parametrize("what", DAMAGE)
def test_damage_is_named(copy: Path, what: str) -> None:
    damage, problems = DAMAGE[what]
    damage(copy)
    assert found(copy) == problems


@pytest.mark.parametrize("name", ["digest", "source.digest"])
def test_a_digest_that_does_not_follow(copy: Path, name: str) -> None:
    """stream.json and SHA256SUMS were changed consistently."""
    path = copy / "stream.json"
    manifest = json.loads(path.read_text())
    if name == "digest":
        manifest["seed"] = 1
    else:
        manifest["source"]["digest"] = "sha256:" + "0" * 64
    text = json.dumps(manifest).encode()
    path.write_bytes(text)
    files = [FileRecord(**f) for f in [*manifest["files"], {"path": path.name, "bytes": 0, "sha256": sha256_bytes(text)}]]
    (copy / "SHA256SUMS").write_bytes(sha256sums_bytes(files))
    problems = corruptset.verify(copy, progress=False).problems
    assert [(p.kind, p.detail.split()[0]) for p in problems] == [("digest", name)]


def test_what_else_takes_a_directory_says_that_it_is_a_stream(copy: Path) -> None:
    for asked in ({"repair": True}, {"rederive": 1}):
        with pytest.raises(ParameterError, match="corruptset stream"):
            corruptset.verify(copy, progress=False, **asked)
    with pytest.raises(IncompleteBuild, match=r"is a changing stream \(stream.json\)"):
        corruptset.open(copy)
    with pytest.raises(IncompleteBuild, match=r"Did you mean .*/s\?"):
        corruptset.open(copy.parent)
    (copy / "stream.json").unlink()
    (copy / ".corruptset").mkdir()
    (copy / ".corruptset" / "stream").touch()
    assert found(copy) == [("incomplete", "manifest.json")]
    with pytest.raises(IncompleteBuild, match="unfinished stream: run the same"):
        corruptset.open(copy)
