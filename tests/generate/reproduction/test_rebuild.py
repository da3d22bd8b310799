"""Test that a dataset is rebuilt from its records and its source, and that differences are located."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import small_builds
from regenerated import changed_pixels, copy_records, pack_and_unpack_records, write_photos

from corruptset.errors import BuildError, VerificationError
from corruptset.generate.build import Built, build
from corruptset.generate.pixels.encoding import ImageEncoding
from corruptset.generate.plan import builds, tree
from corruptset.generate.reproduction import rebuild as rebuilding
from corruptset.generate.reproduction.rebuild import Rebuilt, rebuild
from corruptset.generate.work import worker
from corruptset.manifests.records.digests import sha256_bytes, sha256_file
from corruptset.manifests.verify.directory import verify_directory

Files = Callable[[Path], dict[str, bytes]]


class Killed(BaseException):
    pass


@pytest.fixture
def release(whole_build: Built, tmp_path: Path) -> Path:
    return copy_records(whole_build.directory, tmp_path / "release")


@pytest.fixture
def rebuild_release(release: Path, tmp_path: Path) -> Callable[[], Rebuilt]:
    """Rebuild the release into one folder."""
    return lambda: rebuild(release, out=tmp_path / "out", jobs=1)


def part_files(out: Path) -> list[Path]:
    return list((out / "out").glob("*/.corruptset/parts/*.json"))


def test_rebuild_restores_bytes_together_or_set_by_set(
    release: Path, whole_build: Built, lossless_build: Built, tmp_path: Path, files: Files
) -> None:
    result, repeated = (rebuild(place, out=tmp_path / "out", jobs=1) for place in (release / "manifest.json", release))
    assert files(result.built.directory) == files(whole_build.directory)
    assert (result.whole, result.identical, result.built.digest) == (True, True, whole_build.digest)
    assert (repeated.built.images, repeated.identical) == (0, True)
    small = pack_and_unpack_records(lossless_build.directory, tmp_path)
    some = rebuild(small, out=tmp_path / "some", sets=["contrast/*"], jobs=1)
    assert {s.id for s in some.built.manifest.sets} == {"contrast/1", "contrast/3"}
    with pytest.raises(
        BuildError, match=r"is a finished dataset, which is never changed\. It lacks .* Choose another --out"
    ):
        rebuild(small, out=tmp_path / "some", jobs=1)
    rest = rebuild(small, out=tmp_path / "rest", jobs=1)
    assert [(part.whole, part.identical) for part in (some, rest)] == [(False, True), (True, True)]
    assert files(rest.built.directory) == files(lossless_build.directory)


def test_selection_and_excluded_images_come_from_manifest(small_recipe: Path, tmp_path: Path, files: Files) -> None:
    source = write_photos(tmp_path / "photos")
    (tmp_path / "photos" / "a" / "1.png").write_bytes(b"no image")
    (tmp_path / "ids.txt").write_text("a/0\na/1\nb/2\n")
    result = build(
        small_recipe, source, tmp_path / "one", jobs=1, ids=tmp_path / "ids.txt", skip_bad=True, coupling="severity",
        seed=9, sets=["gaussian_noise/*", "clean"], storage="hdf5", metrics=1, scale="side",
    )  # fmt: skip
    assert [e.path for e in result.manifest.excluded] == ["a/1.png"]
    restored = rebuild(copy_records(result.directory, tmp_path / "release"), source, tmp_path / "two", jobs=1)
    assert files(restored.built.directory) == files(result.directory)


def test_sets_of_several_chunks_are_restored(
    shared_data: small_builds.SharedData, tmp_path: Path, files: Files
) -> None:
    """If a build has several chunks, the first image of a part is not the first image of the set."""
    crops = {"classes": 3, "each": 4}
    for number, options in enumerate(({"storage": "folder", "sets": ["contrast/*"]}, {"sets": ["contrast/1"]})):
        directory = shared_data.build(crops=crops, **options)
        copy_release, out = (copy_records, pack_and_unpack_records)[number % 2], tmp_path / f"{number}"
        result = rebuild(copy_release(directory, out / "release"), f"folder:{shared_data.crops(**crops)}", out, jobs=1)
        assert files(result.built.directory) == files(directory), options
    assert len(list(directory.glob("hdf5/contrast/1-*.h5"))) == 2
    assert verify_directory(directory).ok


def test_rebuild_resumes_and_compares_earlier_results(
    rebuild_release: Callable[[], Rebuilt],
    whole_build: Built,
    tmp_path: Path,
    files: Files,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Existing parts may come from a call that was killed before it compared them, or from another machine."""
    original, calls = worker.write_sidecar, []

    def commit(*arguments: Any) -> None:
        original(*arguments)
        calls.append(arguments[1])
        if len(calls) in (1, 3):
            raise Killed

    monkeypatch.setattr(worker, "write_sidecar", commit)
    with changed_pixels(), pytest.raises(Killed):
        rebuild_release()
    assert len(part_files(tmp_path)) == 1
    with pytest.raises(Killed):
        rebuild_release()
    compared = r"(?s)images differ from those of .* \(\d+ were compared\).*corruption, .*: 8 "
    with pytest.raises(VerificationError, match=compared):
        rebuild_release()
    assert not list((tmp_path / "out").glob("*/manifest.json"))
    assert files(rebuild_release().built.directory) == files(whole_build.directory)
    # all but the wrong part were made once
    assert sorted(calls) == sorted([*set(calls), calls[0]])


def test_rebuild_rejects_different_decoding_own_release_and_different_pixels(
    rebuild_release: Callable[[], Rebuilt],
    whole_build: Built,
    small_recipe: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    original = builds.load_clean
    decoded = r"the clean image has the digest blake3:\w+, but .* decoded or resized differently here"
    with monkeypatch.context() as patch:
        patch.setattr(builds, "load_clean", lambda *a: original(*a) ^ np.uint8(1))
        with pytest.raises(VerificationError, match=decoded):
            rebuild_release()
    assert not (tmp_path / "out").exists()
    with pytest.raises(BuildError, match="is the release itself"):
        rebuild(copy_records(whole_build.directory, tmp_path / "self" / "small-1.0.0"), out=tmp_path / "self")
    with changed_pixels("contrast/1"):
        result = build(small_recipe, "sample", tmp_path / "out", jobs=1)
    other = r"already existed, and its sets differ from those of the manifest:\n  contrast/1: has blake3:"
    with pytest.raises(VerificationError, match=other):
        rebuild_release()
    assert (result.directory / "manifest.json").exists()


def test_first_difference_is_located(
    release: Path,
    rebuild_release: Callable[[], Rebuilt],
    whole_build: Built,
    tmp_path: Path,
    files: Files,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One sample is decoded differently, and an image of another sample is corrupted differently. Both are reported."""
    real_load, real_walk = worker.load_clean, tree.walk

    def load(source: Any, chosen: Any, preprocessing: Any) -> Any:
        return real_load(source, chosen, preprocessing) ^ np.uint8(chosen.sample.index == 2)

    def walk(*arguments: Any, **options: Any) -> Any:
        for set_id, images in real_walk(*arguments, **options):
            changed = images.copy()
            changed[5, 0, 0, 0] ^= 4 * (set_id == "contrast/3")
            yield set_id, changed

    with monkeypatch.context() as patch:
        patch.setattr(worker, "load_clean", load)
        patch.setattr(tree, "walk", walk)
        with pytest.raises(VerificationError) as exc_info:
            rebuild_release()
    message = str(exc_info.value)
    ids = [json.loads(line)["id"] for line in (release / "samples.jsonl").read_text("utf-8").splitlines()]
    assert f"decoding or preprocessing: 1 ({ids[2]})" in message
    assert f"corruption, contrast/3: 1 ({ids[5]})" in message
    assert message.count("corruption, ") == 1
    # parts that came out otherwise are not kept, and others are, so the same call ends well
    with changed_pixels("contrast/1"):
        with pytest.raises(VerificationError, match="corruption, contrast/1: 8 "):
            rebuild_release()
        sidecar_texts = [path.read_text() for path in part_files(tmp_path)]
        monkeypatch.setattr(rebuilding, "MAX_DIFFERING", 8)
        with pytest.raises(VerificationError, match=r"contrast/1: 8 \("):
            rebuild_release()
    assert sidecar_texts
    assert not any('"contrast/1"' in part for part in sidecar_texts)
    assert not (tmp_path / "out" / "small-1.0.0" / "manifest.json").exists()
    assert files(rebuild_release().built.directory) == files(whole_build.directory)


def test_different_encoding_is_reported_but_not_failure(
    rebuild_release: Callable[[], Rebuilt], whole_build: Built, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = ImageEncoding.encode
    monkeypatch.setattr(ImageEncoding, "encode", lambda self, image: original(self, image) + b"\n")
    result = rebuild_release()
    assert (result.built.digest, result.identical) == (whole_build.digest, False)
    assert result.other_images == 8 * len(whole_build.manifest.sets)
    assert not replace(result, other_images=0).identical
    assert {"manifest.json", "sets/contrast/1.jsonl"} <= set(result.other_files)
    assert "are the recorded ones" in result.advice


def _edit(path: Path, old: str, new: str) -> None:
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), "utf-8")


def _other_rows(release: Path) -> None:
    """Return different rows with a matching hash, which still do not give the digest of the set."""
    rows = release / "sets/contrast/1.jsonl"
    lines = [json.loads(line) for line in rows.read_text("utf-8").splitlines()]
    lines[0]["pixels"] = "blake3:" + "0" * 64
    data = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines).encode()
    _edit(release / "manifest.json", sha256_file(rows), sha256_bytes(data))
    rows.write_bytes(data)


def test_inconsistent_release_is_rejected(whole_build: Built, tmp_path: Path) -> None:
    rows, message = "sets/contrast/1.jsonl", "is damaged, so no images can be computed from it"
    damages: list[tuple[Callable[[Path], Any], bool, str]] = [
        (lambda r: _edit(r / rows, "0", "1"), True, message),
        (lambda r: (r / rows).unlink(), True, message),
        (lambda r: _edit(r / "samples.jsonl", '"label": 0', '"label": 1'), True, message),
        (lambda r: _edit(r / "manifest.json", '"license": "', '"license": "x'), True, message),
        (lambda r: _edit(r / "manifest.json", '"seed": 0', '"seed": 1'), False, message),
        (lambda r: _edit(r / "manifest.json", '"sigma": 0.3', '"sigma": -0.3'), False, message),
        (_other_rows, False, "but the rows have blake3:"),
    ]
    for number, (damage, sums, match) in enumerate(damages):
        release = copy_records(whole_build.directory, tmp_path / f"{number}")
        damage(release)
        if not sums:
            (release / "SHA256SUMS").unlink()
        with pytest.raises(VerificationError, match=match):
            rebuild(release, out=tmp_path / "out", jobs=1)
    small = pack_and_unpack_records(whole_build.directory, tmp_path)
    (small / "PARTIAL.json").unlink()
    with pytest.raises(VerificationError, match=r"sets/contrast/1\.jsonl: unreadable: No such file"):
        rebuild(small, out=tmp_path / "out", jobs=1)
    assert not (tmp_path / "out").exists()


def test_set_with_different_digest_is_named(whole_build: Built, tmp_path: Path, files: Files) -> None:
    release = pack_and_unpack_records(whole_build.directory, tmp_path)
    message = r"corruption, contrast/1: 1 \(its digest is blake3:\w+, but blake3:"
    with changed_pixels("contrast/1"), pytest.raises(VerificationError, match=message):
        rebuild(release, out=tmp_path / "out", jobs=1)
    assert not list((tmp_path / "out").glob("*/manifest.json"))
    assert files(rebuild(release, out=tmp_path / "out", jobs=1).built.directory) == files(whole_build.directory)
