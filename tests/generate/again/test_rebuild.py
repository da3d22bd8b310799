"""From a release without pixels and its source the whole data set comes back; and what is other is found where it
begins.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import layouts
import numpy as np
import pytest
from packs import archive_paths, packed
from PIL import Image

import corruptset
from corruptset.corruptions.registry import _registered
from corruptset.errors import BuildError, SourceError, VerificationError
from corruptset.generate.again import rebuild as rebuilding
from corruptset.generate.again.rebuild import rebuild
from corruptset.generate.build import Built, build
from corruptset.generate.pixels.encoding import ImageEncoding
from corruptset.generate.plan import builds
from corruptset.generate.plan import tree as set_maker
from corruptset.generate.work import worker
from corruptset.manifests.records.digests import sha256_bytes, sha256_file
from corruptset.manifests.release.unpack import unpack

Files = Callable[[Path], dict[str, bytes]]


def release_of(directory: Path, place: Path) -> Path:
    """Copy what a release without pixels has, and return its folder."""
    place.mkdir(parents=True)
    for name in ("manifest.json", "samples.jsonl", "SHA256SUMS"):
        shutil.copyfile(directory / name, place / name)
    shutil.copytree(directory / "sets", place / "sets")
    return place


@pytest.fixture
def release(whole: Built, tmp_path: Path) -> Path:
    return release_of(whole.directory, tmp_path / "release")


@pytest.mark.parametrize("kind", ["whole", "lossless"])
def test_the_same_bytes_come_back(request: pytest.FixtureRequest, kind: str, tmp_path: Path, files: Files) -> None:
    built: Built = request.getfixturevalue(kind)
    made = rebuild(release_of(built.directory, tmp_path / "release") / "manifest.json", out=tmp_path / "out", jobs=1)
    assert files(made.built.directory) == files(built.directory)
    assert (made.whole, made.identical, made.built.digest) == (True, True, built.digest)
    again = rebuild(tmp_path / "release", out=tmp_path / "out", jobs=1)
    assert (again.built.images, again.identical) == (0, True)


@pytest.mark.ci
def test_with_workers(release: Path, whole: Built, tmp_path: Path, files: Files) -> None:
    assert files(rebuild(release, out=tmp_path / "out", jobs=2).built.directory) == files(whole.directory)


def test_some_sets_and_then_the_rest(release: Path, whole: Built, tmp_path: Path, files: Files) -> None:
    some = rebuild(release, out=tmp_path / "out", sets=["contrast/*"], jobs=1)
    assert {s.id for s in some.built.manifest.sets} == {"contrast/1", "contrast/3"}
    assert (some.whole, some.identical) == (False, True)
    rest = rebuild(release, out=tmp_path / "out", jobs=1)
    assert rest.built.images == 8 * (len(whole.manifest.sets) - 2)
    assert files(rest.built.directory) == files(whole.directory)


def photos(folder: Path) -> str:
    rng = np.random.default_rng(5)
    for name in ("a", "b"):
        (folder / name).mkdir(parents=True)
        for i in range(3):
            Image.fromarray(rng.integers(0, 256, (80, 90, 3), np.uint8)).save(folder / name / f"{i}.png")
    return f"folder:{folder}"


def test_a_selection_and_bad_images_are_those_of_the_manifest(small_recipe: Path, tmp_path: Path, files: Files) -> None:
    source = photos(tmp_path / "photos")
    (tmp_path / "photos" / "a" / "1.png").write_bytes(b"no image")
    (tmp_path / "ids.txt").write_text("a/0\na/1\nb/2\n")
    built = build(
        small_recipe, source, tmp_path / "one", jobs=1, ids=tmp_path / "ids.txt", skip_bad=True, coupling="severity",
        seed=9,
        sets=["gaussian_noise/*", "clean"], format="hdf5", metrics=1, scale="side",
    )  # fmt: skip
    assert [e.path for e in built.manifest.excluded] == ["a/1.png"]
    made = rebuild(release_of(built.directory, tmp_path / "release"), source, tmp_path / "two", jobs=1)
    assert files(made.built.directory) == files(built.directory)


@pytest.mark.parametrize("view", ["cifar-c", "imagenet-c", "openood"])
def test_a_view_comes_back(tmp_path: Path, view: str, files: Files) -> None:
    crops = layouts.write_crops(tmp_path / "crops", each=2)
    built = layouts.make(
        layouts.write_recipe(tmp_path), crops, tmp_path / "one", sets=["contrast/*", "brightness/*"], view=view
    )
    made = rebuild(release_of(built, tmp_path / "release"), f"folder:{crops}", tmp_path / "two", jobs=1)
    assert files(made.built.directory) == files(built)


def test_it_resumes(release: Path, whole: Built, tmp_path: Path, files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    class Killed(BaseException):
        pass

    real, calls = worker.write_sidecar, []

    def commit(*arguments: Any) -> None:
        calls.append(arguments[1])
        if len(calls) == 3:
            raise Killed
        real(*arguments)

    monkeypatch.setattr(worker, "write_sidecar", commit)
    with pytest.raises(Killed):
        rebuild(release, out=tmp_path / "out", jobs=1)
    stopped = list(calls)
    made = rebuild(release, out=tmp_path / "out", jobs=1)
    assert files(made.built.directory) == files(whole.directory)
    assert set(calls[3:]).isdisjoint(stopped[:2])


def test_another_source_is_refused_before_anything_is_written(small_recipe: Path, tmp_path: Path) -> None:
    source = photos(tmp_path / "photos")
    built = build(small_recipe, source, tmp_path / "one", jobs=1, sets=["contrast/1"])
    release = release_of(built.directory, tmp_path / "release")
    with pytest.raises(SourceError, match="made from the source 'folder': name it with --source"):
        rebuild(release, out=tmp_path / "two")
    Image.new("RGB", (80, 80)).save(tmp_path / "photos" / "b" / "1.png")
    with pytest.raises(
        SourceError,
        match=r"(?s)not the one that .*release was made from:\n  b/1: is sha256:\w+, expected sha256:\w+\nName",
    ):
        rebuild(release, source, tmp_path / "two", jobs=1)
    (tmp_path / "photos" / "a" / "0.png").write_bytes(b"text")
    (tmp_path / "photos" / "b" / "1.png").unlink()
    with pytest.raises(SourceError, match="b/1: is not in the source"):
        rebuild(release, source, tmp_path / "two", jobs=1)
    assert not (tmp_path / "two").exists()


def test_another_revision_is_refused_before_anything_is_written(
    release: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(_registered, "contrast", replace(_registered["contrast"], revision=2))
    with pytest.raises(VerificationError, match="contrast: revision 2 here, 1 in the data set"):
        rebuild(release, out=tmp_path / "out", jobs=1)
    assert not (tmp_path / "out").exists()


def test_other_decoding_of_the_first_images_is_refused_before_anything_is_written(
    release: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builds.load_clean
    monkeypatch.setattr(builds, "load_clean", lambda *a: real(*a) ^ np.uint8(1))
    with pytest.raises(
        VerificationError, match=r"the image of clean is blake3:\w+, made again; .* decoded or resized otherwise here"
    ):
        rebuild(release, out=tmp_path / "out", jobs=1)
    assert not (tmp_path / "out").exists()


def test_where_a_difference_begins(
    release: Path, whole: Built, tmp_path: Path, files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One sample decodes otherwise, and one image of another sample is corrupted otherwise: both are said, each at its
    own step.
    """
    real_load, real_walk = worker.load_clean, set_maker.walk
    sample, victim = whole.manifest.sets[0].id, "contrast/3"
    assert sample != victim

    def load(source: Any, chosen: Any, preprocessing: Any) -> Any:
        image = real_load(source, chosen, preprocessing)
        return image ^ np.uint8(1) if chosen.sample.index == 2 else image

    def walk(*arguments: Any, **options: Any) -> Any:
        for set_id, images in real_walk(*arguments, **options):
            changed = images.copy()
            if set_id == victim:
                changed[5, 0, 0, 0] ^= 4
            yield set_id, changed

    with monkeypatch.context() as patch:
        patch.setattr(worker, "load_clean", load)
        patch.setattr(set_maker, "walk", walk)
        with pytest.raises(VerificationError) as caught:
            rebuild(release, out=tmp_path / "out", jobs=1)
    said = str(caught.value)
    ids = [json.loads(line)["id"] for line in (release / "samples.jsonl").read_text("utf-8").splitlines()]
    assert f"decoding or preprocessing: 1 ({ids[2]})" in said
    assert f"corruption, contrast/3: 1 ({ids[5]})" in said
    assert said.count("corruption, ") == 1
    directory = tmp_path / "out" / "small-1.0.0"
    assert not (directory / "manifest.json").exists()
    # nothing that came out otherwise was kept, so the same call ends well
    assert files(rebuild(release, out=tmp_path / "out", jobs=1).built.directory) == files(whole.directory)


def test_a_part_without_differences_is_kept(release: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = set_maker.walk

    def walk(*arguments: Any, **options: Any) -> Any:
        for set_id, images in real(*arguments, **options):
            yield set_id, images ^ np.uint8(set_id == "contrast/1")

    with monkeypatch.context() as patch:
        patch.setattr(set_maker, "walk", walk)
        with pytest.raises(VerificationError, match="corruption, contrast/1: 8 "):
            rebuild(release, out=tmp_path / "out", jobs=1)
        kept = list((tmp_path / "out").glob("*/.corruptset/parts/*.json"))
        patch.setattr(rebuilding, "ENOUGH", 8)
        with pytest.raises(VerificationError, match=r"contrast/1: 8 \("):
            rebuild(release, out=tmp_path / "out", jobs=1)
    assert kept
    assert all('"contrast/1"' not in path.read_text() for path in kept)


def test_parts_of_an_earlier_call_are_compared_too(
    release: Path, whole: Built, tmp_path: Path, files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What stands may have been made elsewhere: by a call that was killed before it compared, or by `build` on another
    machine.
    """

    class Killed(BaseException):
        pass

    real_walk, real_write, calls = set_maker.walk, worker.write_sidecar, []

    def commit(*arguments: Any) -> None:
        calls.append(arguments)
        real_write(*arguments)
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(
            set_maker, "walk", lambda *a, **o: ((s, images ^ np.uint8(1)) for s, images in real_walk(*a, **o))
        )
        patch.setattr(worker, "write_sidecar", commit)
        with pytest.raises(Killed):
            rebuild(release, out=tmp_path / "out", jobs=1)
    assert len(list((tmp_path / "out").glob("*/.corruptset/parts/*.json"))) == 1
    with pytest.raises(
        VerificationError, match=r"(?s)images differ from those of .* \(\d+ were compared\).*corruption, .*: 8 "
    ):
        rebuild(release, out=tmp_path / "out", jobs=1)
    assert not list((tmp_path / "out").glob("*/manifest.json"))
    assert files(rebuild(release, out=tmp_path / "out", jobs=1).built.directory) == files(whole.directory)


def test_a_finished_build_of_other_pixels_is_no_result(
    release: Path, small_recipe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = set_maker.walk
    with monkeypatch.context() as patch:
        patch.setattr(
            set_maker,
            "walk",
            lambda *a, **o: ((s, images ^ np.uint8(s == "contrast/1")) for s, images in real(*a, **o)),
        )
        made = build(small_recipe, "sample", tmp_path / "out", jobs=1)
    with pytest.raises(
        VerificationError,
        match=r"existed before, and its sets are not those of the manifest:\n  contrast/1: has blake3:",
    ):
        rebuild(release, out=tmp_path / "out", jobs=1)
    assert (made.directory / "manifest.json").exists()


def test_other_encoded_bytes_are_said_and_are_no_failure(
    release: Path, whole: Built, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = ImageEncoding.encode
    monkeypatch.setattr(ImageEncoding, "encode", lambda self, image: real(self, image) + b"\n")
    made = rebuild(release, out=tmp_path / "out", jobs=1)
    assert (made.built.digest, made.identical) == (whole.digest, False)
    assert made.other_images == 8 * len(whole.manifest.sets)
    assert {"manifest.json", "sets/contrast/1.jsonl"} <= set(made.other_files)
    assert "of the same release here" in made.advice


def test_the_release_itself_is_not_taken_for_the_result(whole: Built, tmp_path: Path) -> None:
    place = release_of(whole.directory, tmp_path / "out" / "small-1.0.0")
    with pytest.raises(BuildError, match="is the release itself"):
        rebuild(place, out=tmp_path / "out")


def _edit(path: Path, old: str, new: str) -> None:
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), "utf-8")


@pytest.mark.parametrize("damage", ["row", "missing rows", "samples", "seed", "parameter", "sums"])
def test_a_release_that_contradicts_itself_is_refused(release: Path, tmp_path: Path, damage: str) -> None:
    manifest = release / "manifest.json"
    if damage == "row":
        data = bytearray((release / "sets/contrast/1.jsonl").read_bytes())
        data[40] ^= 1
        (release / "sets/contrast/1.jsonl").write_bytes(data)
    elif damage == "missing rows":
        (release / "sets/contrast/1.jsonl").unlink()
    elif damage == "samples":
        _edit(release / "samples.jsonl", '"label": 0', '"label": 1')
    elif damage == "sums":
        _edit(manifest, '"license": "', '"license": "x')
    else:
        _edit(manifest, *({"seed": ('"seed": 0', '"seed": 1'), "parameter": ('"sigma": 0.3', '"sigma": -0.3')}[damage]))
        (release / "SHA256SUMS").unlink()
    with pytest.raises(VerificationError, match="is not a release that images can be made from"):
        rebuild(release, out=tmp_path / "out", jobs=1)
    assert not (tmp_path / "out").exists()


def test_rows_resealed_to_other_pixels_are_refused(release: Path, tmp_path: Path) -> None:
    """Other rows with a matching hash still do not give the set's digest."""
    path = release / "sets/contrast/1.jsonl"
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    rows[0]["pixels"] = "blake3:" + "0" * 64
    old = sha256_file(path)
    data = "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in rows).encode()
    path.write_bytes(data)
    _edit(release / "manifest.json", old, sha256_bytes(data))
    (release / "SHA256SUMS").unlink()
    with pytest.raises(VerificationError, match=r"sets/contrast/1.jsonl: digest: .* the rows give blake3:"):
        rebuild(release, out=tmp_path / "out", jobs=1)


def test_it_is_a_public_name() -> None:
    assert corruptset.rebuild is rebuild


def test_samples_of_a_later_run_are_held_to_their_own_rows(tmp_path: Path, files: Files) -> None:
    """A build of more samples than a part takes: what a part calls its first image is not the set's first."""
    crops = layouts.write_crops(tmp_path / "crops", classes=3, each=4)
    directory = layouts.make(layouts.write_recipe(tmp_path), crops, tmp_path / "a", sets=["contrast/1"], format="both")
    assert len(list(directory.glob("hdf5/contrast/1-*.h5"))) == 2
    made = rebuild(release_of(directory, tmp_path / "release"), f"folder:{crops}", tmp_path / "b", jobs=1)
    assert files(made.built.directory) == files(directory)
    assert corruptset.verify(directory, jobs=1).ok


def small_release_of(directory: Path, folder: Path) -> Path:
    """Return a release with one digest a set."""
    bag = packed(directory, folder / "bag", family_of=lambda name: "all", manifest_only=True, digests="sets")
    return unpack(archive_paths(bag), folder / "small").path


def test_from_one_digest_a_set_everything_comes_back(whole: Built, tmp_path: Path, files: Files) -> None:
    release = small_release_of(whole.directory, tmp_path)
    assert not (release / "sets").exists()
    some = rebuild(release, out=tmp_path / "out", sets=["contrast/*"], jobs=1)
    assert (some.whole, some.identical) == (False, True)
    made = rebuild(release, out=tmp_path / "out", jobs=1)
    assert (made.whole, made.identical, made.built.digest) == (True, True, whole.digest)
    assert files(made.built.directory) == files(whole.directory)


def test_sets_of_several_runs_are_compared_whole(tmp_path: Path, files: Files) -> None:
    crops = layouts.write_crops(tmp_path / "crops", classes=3, each=4)
    directory = layouts.make(layouts.write_recipe(tmp_path), crops, tmp_path / "a", sets=["contrast/1"], format="hdf5")
    made = rebuild(small_release_of(directory, tmp_path), f"folder:{crops}", tmp_path / "b", jobs=1)
    assert files(made.built.directory) == files(directory)


def test_a_set_with_another_digest_is_named(
    whole: Built, tmp_path: Path, files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = small_release_of(whole.directory, tmp_path)
    real = set_maker.walk

    def walk(*arguments: Any, **options: Any) -> Any:
        for set_id, images in real(*arguments, **options):
            yield set_id, images ^ np.uint8(set_id == "contrast/1")

    with monkeypatch.context() as patch:
        patch.setattr(set_maker, "walk", walk)
        with pytest.raises(
            VerificationError, match=r"corruption, contrast/1: 1 \(its digest is blake3:\w+, recorded is blake3:"
        ):
            rebuild(release, out=tmp_path / "out", jobs=1)
    assert not list((tmp_path / "out").glob("*/manifest.json"))
    assert files(rebuild(release, out=tmp_path / "out", jobs=1).built.directory) == files(whole.directory)


def test_rows_of_a_set_that_is_there_may_not_be_left_out(whole: Built, tmp_path: Path) -> None:
    release = small_release_of(whole.directory, tmp_path)
    (release / "PARTIAL.json").unlink()
    with pytest.raises(
        VerificationError,
        match=r"sets/contrast/1\.jsonl: missing: a release without pixels has it beside manifest\.json",
    ):
        rebuild(release, out=tmp_path / "out", jobs=1)
