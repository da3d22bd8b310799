"""Every single way to damage a data set is found and named; nothing that is whole is complained of."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path
from typing import Any

import pytest
from damage import (
    OTHER_PNG,
    PNG_IMAGE,
    SHARD,
    WHOLE_FILES,
    Make,
    assigned,
    edit_lines,
    edit_manifest,
    external_link,
    flip,
    found,
    outside,
    paths,
    remake_shard,
)

from corruptset.errors import IncompleteBuild, VerificationError
from corruptset.manifests.records.report import Problem, VerificationReport
from corruptset.manifests.verify import sets
from corruptset.manifests.verify.ladder import verify_directory


@pytest.mark.parametrize("uniform", [True, False])
@pytest.mark.parametrize("containers", [("folder",), ("hdf5",), ("folder", "hdf5")])
@pytest.mark.parametrize("encoding_format", ["png", "jpeg"])
def test_whole_data_sets_have_no_problems(
    dataset: Make, encoding_format: str, containers: tuple[str, ...], uniform: bool
) -> None:
    report = verify_directory(dataset(encoding_format=encoding_format, containers=containers, uniform=uniform))
    assert report.ok, report.problems
    report.raise_for_problems()
    assert report.checked["sets"] == 3
    assert report.checked["samples"] == 5
    assert report.checked["images"] == 15 * len(containers)
    assert report.checked["bytes"] > 15 * 200
    assert report.digest is not None
    assert report.digest.startswith("sha256:")


@pytest.mark.parametrize("path", [*WHOLE_FILES[1:], PNG_IMAGE])
@pytest.mark.parametrize("level", ["structure", "pixels"])
def test_missing(dataset: Make, path: str, level: str) -> None:
    root = dataset()
    (root / path).unlink()
    problems = found(root, level=level)
    assert [(p.path, p.kind) for p in problems] == [(path, "missing")]


@pytest.mark.parametrize("path", [*WHOLE_FILES, PNG_IMAGE])
@pytest.mark.parametrize("at", [0.02, 0.5, 0.99])
def test_a_flipped_bit(dataset: Make, path: str, at: float) -> None:
    root = dataset()
    flip(root / path, at)
    problems = found(root)
    assert path in paths(problems)
    if path == "SHA256SUMS":
        # a damaged digit in the manifest's line is told from another manifest
        assert paths(problems) == {"SHA256SUMS"}
    if path in ("contact.png", "README.md", SHARD, PNG_IMAGE):
        assert [(p.path, p.kind) for p in problems] == [(path, "hash")]


@pytest.mark.parametrize("encoding_format", ["png", "jpeg"])
def test_a_flipped_bit_in_every_file(dataset: Make, encoding_format: str) -> None:
    root = dataset(encoding_format=encoding_format)
    files = [p for p in root.rglob("*") if p.is_file()]
    assert len(files) == 17 + 15
    for path in files:
        whole = path.read_bytes()
        flip(path, 0.3)
        named = paths(found(root, level="hashes"))
        assert path.relative_to(root).as_posix() in named
        path.write_bytes(whole)
    assert found(root) == []


@pytest.mark.parametrize("path", [*WHOLE_FILES, PNG_IMAGE])
@pytest.mark.parametrize("keep", [0, 0.5, -1])
def test_truncated(dataset: Make, path: str, keep: float) -> None:
    root = dataset()
    data = (root / path).read_bytes()
    (root / path).write_bytes(data[: int(len(data) * keep) if keep >= 0 else -1])
    for level in ["sizes", "pixels"]:
        problems = found(root, level=level)
        assert path in paths(problems)
        if path not in ("manifest.json", "SHA256SUMS"):
            assert path in paths(problems, "size")


@pytest.mark.parametrize(
    "path",
    ["note.txt", "images/fog/3/1 a dog/new.png", "images/fog/3/new.png", "images/other/x.png", "hdf5/fog/3-00007.h5",
    "hdf5/junk.h5",
     "sets/junk.jsonl", ".hidden", "images/fog/x.png", "contact.png.part"],
)  # fmt: skip
def test_unexpected(dataset: Make, path: str) -> None:
    root = dataset()
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_bytes(b"x")
    assert [(p.path, p.kind) for p in found(root, level="structure")] == [(path, "unexpected")]


@pytest.mark.parametrize("path", ["images/fog/3/2_empty", "images/extra/1", "empty"])
def test_an_empty_folder_is_unexpected(dataset: Make, path: str) -> None:
    # torchvision's ImageFolder raises on an empty class folder
    root = dataset()
    (root / path).mkdir(parents=True)
    assert [(p.path, p.kind) for p in found(root)] == [(path, "unexpected")]


@pytest.mark.parametrize("name", [b"caf\xe9.png", b"new\nline", "schön".encode()])
def test_unexpected_names_are_printable(dataset: Make, name: bytes) -> None:
    root = dataset()
    (root / os.fsdecode(name)).write_bytes(b"x")
    (problem,) = found(root)
    assert problem.kind == "unexpected"
    assert problem.path.isprintable()


def test_swapped_images(dataset: Make) -> None:
    root = dataset()
    a, b = root / PNG_IMAGE, root / OTHER_PNG
    one, other = a.read_bytes(), b.read_bytes()
    a.write_bytes(other)
    b.write_bytes(one)
    assert paths(found(root)) == {PNG_IMAGE, OTHER_PNG}


def test_renamed(dataset: Make) -> None:
    root = dataset()
    (root / PNG_IMAGE).rename(root / "images/fog/3/1 a dog/Ünal 8.png")
    assert {(p.path, p.kind) for p in found(root)} == {
        (PNG_IMAGE, "missing"),
        ("images/fog/3/1 a dog/Ünal 8.png", "unexpected"),
    }


@pytest.mark.parametrize("folder", ["images", "hdf5"])
def test_sets_exchanged(dataset: Make, folder: str) -> None:
    root = dataset()
    names = ("fog/3", "clean") if folder == "images" else ("fog/3-00000.h5", "clean-00000.h5")
    a, b = (root / folder / n for n in names)
    a.rename(root / "aside")
    b.rename(a)
    (root / "aside").rename(b)
    problems = found(root)
    assert {p.split("/")[1].split("-")[0] for p in paths(problems)} == {"fog", "clean"}
    assert {p.kind for p in problems} <= {"hash", "size"}


@pytest.mark.parametrize("path", ["manifest.json", "SHA256SUMS", "samples.jsonl", "sets/fog/3.jsonl", SHARD, PNG_IMAGE])
def test_links_are_named_and_not_followed(dataset: Make, path: str) -> None:
    root = dataset()
    target = root.parent / "elsewhere"
    (root / path).rename(target)
    (root / path).symlink_to(target)
    problems = found(root)
    assert [(p.path, p.kind) for p in problems] == [(path, "symlink")]


@pytest.mark.parametrize(
    "path", ["images", "images/fog", "images/fog/3", "images/fog/3/1 a dog", "sets", "sets/fog", "hdf5/fog"]
)
def test_linked_folders_are_named_and_not_followed(dataset: Make, path: str) -> None:
    root = dataset()
    target = root.parent / "elsewhere"
    (root / path).rename(target)
    (root / path).symlink_to(target, target_is_directory=True)
    problems = found(root)
    assert [(p.path, p.kind) for p in problems] == [(path, "symlink")]


GARBAGE = [
    b"",
    b"\n",
    b"null\n",
    b"[]\n",
    b"{}\n",
    b"[" * 100_000,
    b"\xff\xfe\x00" * 50,
    b'{"a":' * 5000,
    b"\0" * 4096,
    b"NaN\n",
    b"1e999\n",
]


@pytest.mark.parametrize("path", [*WHOLE_FILES, PNG_IMAGE])
@pytest.mark.parametrize("reseal", [False, True])
def test_garbage_is_reported_not_raised(dataset: Make, path: str, reseal: bool) -> None:
    root = dataset()
    for data in GARBAGE:
        (root / path).write_bytes(data)
        if reseal and path not in ("manifest.json", "SHA256SUMS", "contact.png", "README.md"):
            edit_manifest(root, lambda m: None, reseal=True)
        assert path in paths(found(root))


@pytest.mark.parametrize("value", [2**60, 10**400, -1, 1.5, "1", None, True, [], {}, float("nan"), "\ud800"])
@pytest.mark.parametrize("where", ["seed", "stage", "recipe", "count", "digest"])
def test_values_out_of_bounds_are_reported_not_raised(dataset: Make, where: str, value: Any) -> None:
    root = dataset()
    manifest = json.loads((root / "manifest.json").read_text("utf-8"))
    holder, key = {
        "seed": (manifest, "seed"),
        "stage": (manifest["sets"][2]["stages"][0]["parameters"], "amount"),
        "recipe": (manifest["recipe"], "x"),
        "count": (manifest["sets"][0], "count"),
        "digest": (manifest, "digest"),
    }[where]
    holder[key] = value
    (root / "manifest.json").write_text(json.dumps(manifest))
    assert "manifest.json" in paths(found(root))


def test_special_files_are_named_and_not_opened(dataset: Make) -> None:
    root = dataset()
    (root / PNG_IMAGE).unlink()
    os.mkfifo(root / PNG_IMAGE)
    os.mkfifo(root / "pipe")
    assert {(p.path, p.kind) for p in found(root)} == {(PNG_IMAGE, "special"), ("pipe", "special")}
    (root / "manifest.json").unlink()
    os.mkfifo(root / "manifest.json")
    assert [(p.path, p.kind) for p in found(root)] == [("manifest.json", "special")]


def test_a_folder_in_the_place_of_a_file(dataset: Make) -> None:
    root = dataset()
    for path in [PNG_IMAGE, "samples.jsonl", "sets/fog/3.jsonl", SHARD]:
        (root / path).unlink()
        (root / path).mkdir()
        problems = found(root)
        assert path in paths(problems, "missing")
        assert path in paths(problems, "unexpected")


def test_incomplete_builds(dataset: Make) -> None:
    root = dataset()
    (root / "manifest.json").unlink()
    report = verify_directory(root)
    assert [(p.path, p.kind) for p in report.problems] == [("manifest.json", "incomplete")]
    (root / ".corruptset/parts").mkdir(parents=True)
    with pytest.raises(IncompleteBuild, match="Resume it by running the same `corruptset build`"):
        verify_directory(root).raise_for_problems()


@pytest.mark.parametrize("name", ["nowhere", "file"])
def test_no_directory(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(IncompleteBuild, match=name):
        verify_directory(tmp_path / name).raise_for_problems()


def test_what_a_build_has_left_behind(dataset: Make) -> None:
    root = dataset()
    (root / ".corruptset/parts").mkdir(parents=True)
    (root / ".corruptset/parts/1.json").write_bytes(b"{}")
    assert [(p.path, p.kind) for p in found(root)] == [(".corruptset", "unexpected")]


def test_everything_is_collected_and_raised_once(dataset: Make) -> None:
    root = dataset()
    (root / PNG_IMAGE).unlink()
    flip(root / OTHER_PNG)
    (root / "note.txt").write_bytes(b"")
    flip(root / SHARD)
    report = verify_directory(root)
    assert report.by_kind() == {"hash": 2, "missing": 1, "unexpected": 1}
    with pytest.raises(VerificationError) as caught:
        report.raise_for_problems()
    for name in [PNG_IMAGE, OTHER_PNG, "note.txt", SHARD]:
        assert name in str(caught.value)


def test_levels_climb(dataset: Make) -> None:
    root = dataset()
    flip(root / PNG_IMAGE)
    assert found(root, level="structure") == found(root, level="sizes") == []
    assert len(found(root, level="hashes")) == 1
    (root / OTHER_PNG).write_bytes(b"short")
    assert found(root, level="structure") == []
    assert [p.kind for p in found(root, level="sizes")] == ["size"]
    with pytest.raises(ValueError, match="structure, sizes, hashes, pixels"):
        verify_directory(root, level="deep")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="jobs"):
        verify_directory(root, jobs=0)


def test_rederive_is_called_on_sound_records_only(dataset: Make) -> None:
    root = dataset()
    calls: list[Any] = []

    def rederive(data: Any) -> list[Problem]:
        calls.append(data["fog/3"].image(0).shape)
        return [Problem("sets/fog/3.jsonl", "rederive", "image 0 comes out otherwise")]

    report = verify_directory(root, rederive=rederive)
    assert calls == [(16, 20, 3)]
    assert [p.kind for p in report.problems] == ["rederive"]
    flip(root / "samples.jsonl", 0.01)
    verify_directory(root, rederive=rederive)
    assert len(calls) == 1


def test_progress_counts_up_to_the_total(dataset: Make) -> None:
    steps: list[tuple[str, int, int]] = []
    verify_directory(dataset(), progress=lambda *step: steps.append(step))
    assert [s for s in steps if s[0] == "sets"] == [("sets", n, 3) for n in (1, 2, 3)]
    assert steps[14] == ("files", 15, 15)


def test_report_as_json() -> None:
    report = VerificationReport("x", "pixels", problems=[Problem("a", "hash", "b")])
    assert report.as_json()["problems"] == [{"path": "a", "kind": "hash", "detail": "b"}]
    assert report.as_json()["ok"] is False


@pytest.mark.ci
def test_several_processes_find_the_same(dataset: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    root = dataset(repeat=20)
    remake_shard(root, assigned("images", 3))
    for path in [PNG_IMAGE, "images/clean/1 a dog/plain_stem~19.png", "contact.png", "hdf5/clean-00020.h5"]:
        flip(root / path)
    (root / "images/clean/new.png").write_bytes(b"")
    monkeypatch.setattr(sets, "SLICE_ROWS", 3)
    one, several = verify_directory(root), verify_directory(root, jobs=2)
    assert len(one.problems) == 6
    assert one.as_json() == several.as_json()


def test_nothing_outside_is_opened(dataset: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the records say, every file that is opened lies in the data set."""
    root = dataset()
    outside(root)
    remake_shard(root, external_link)
    edit_lines(root / "sets/clean.jsonl", lambda rows: rows[0]["files"][0].update(path="../../secret.png"))
    (root / "images/clean/link.png").symlink_to(root.parent / "secret.png")
    opened: list[str] = []
    real = os.open, Path.open, Path.read_bytes
    monkeypatch.setattr(
        Path, "open", lambda self, *a, **k: (opened.append(os.path.realpath(self)), real[1](self, *a, **k))[1]
    )
    monkeypatch.setattr(Path, "read_bytes", lambda self: (opened.append(os.path.realpath(self)), real[2](self))[1])
    monkeypatch.setattr(socket, "socket", None)
    verify_directory(root)
    assert opened
    assert all(o.startswith(os.path.realpath(root) + os.sep) for o in opened), opened
