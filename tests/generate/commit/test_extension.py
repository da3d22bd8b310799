"""More sets extend a finished build to what one build of all would be; anything else that differs is refused."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import layouts
import pytest

import corruptset
from corruptset.errors import BuildError, Interrupted
from corruptset.generate.build import Built, ProgressEvent, build
from corruptset.generate.commit import abandon as abandoning
from corruptset.generate.commit import last_files as ending
from corruptset.generate.commit import state as committing
from corruptset.generate.commit.locks import finished
from corruptset.generate.plan import job as jobs
from corruptset.manifests.unfinished import read_unfinished, write_unfinished
from corruptset.manifests.verify import ladder as verifying


def test_an_extension_equals_the_union(whole: Built, make: Callable[..., Built], files: Any) -> None:
    first = make(sets=["contrast/*"])
    assert first.images == 16
    second = make(sets=["contrast/1", "gaussian_noise/*"])
    assert second.images == 16
    assert {s.id for s in second.manifest.sets} == {"contrast/1", "contrast/3", "gaussian_noise/1", "gaussian_noise/3"}
    assert corruptset.verify(second.directory, jobs=1).ok
    third = make()
    assert third.digest == whole.digest
    assert files(third.directory) == files(whole.directory)


def test_what_is_there_is_not_made_again(make: Callable[..., Built]) -> None:
    first = make(sets=["contrast/*"])
    before = {p: p.stat().st_mtime_ns for p in first.directory.rglob("*") if p.is_file()}
    again = make(sets=["contrast/3"])
    assert (again.images, again.digest) == (0, first.digest)
    assert {p: p.stat().st_mtime_ns for p in first.directory.rglob("*") if p.is_file()} == before
    make(sets=["brightness/1"])
    kept = [p for p in before if "images" in p.parts or "hdf5" in p.parts]
    assert len(kept) == 18
    assert all(p.stat().st_mtime_ns == before[p] for p in kept)


DIFFERENCES: list[tuple[dict[str, Any], str]] = [
    ({"seed": 7}, "seed: here 0, asked for 7"),
    ({"coupling": "severity"}, "coupling: here 'independent', asked for 'severity'"),
    ({"scale": "side"}, "scale: here 'none', asked for 'side'"),
    ({"samples": 3}, r"source\.digest: here 'sha256:"),
    ({"format": "folder"}, r"encoding\.containers"),
    ({"optimize": True}, r"encoding\.optimize: here False, asked for True"),
    ({"metrics": 2}, "metrics: here 8, asked for 2"),
    ({"calibration": "cifar"}, r"recipe\.calibration: here 'tiny', asked for 'cifar'"),
]


@pytest.mark.parametrize("state", ["finished", "interrupted"])
def test_another_build_is_refused_with_the_difference(
    make: Callable[..., Built], files: Any, tmp_path: Path, state: str
) -> None:
    def stop(event: ProgressEvent) -> None:
        if event.phase == "finishing":
            raise KeyboardInterrupt

    if state == "finished":
        make(sets=["contrast/1"])
    else:
        with pytest.raises(Interrupted):
            make(sets=["contrast/1"], progress=stop)
    before = files(tmp_path)
    for option, field in DIFFERENCES:
        for sets in (["contrast/1"], ["contrast/*"]):
            with pytest.raises(BuildError, match=field) as caught:
                make(sets=sets, **option)
            assert caught.value.exit_code == 2
    assert files(tmp_path) == before


def test_another_recipe_and_another_revision_are_refused(
    small_recipe: Path, make: Callable[..., Built], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(sets=["contrast/1"])
    other = tmp_path / "other.toml"
    other.write_text(small_recipe.read_text().replace("crop = 64", "crop = 48"))
    with pytest.raises(BuildError, match=r"preprocessing\.crop: here 64, asked for 48"):
        build(other, "sample", tmp_path, sets=["contrast/3"], jobs=1)
    real = committing.identity_of

    def older(manifest: Any) -> Any:
        record = real(manifest)
        record["recipe"]["sets"][0]["stages"][0]["revision"] = 99
        return record

    monkeypatch.setattr(committing, "identity_of", older)
    with pytest.raises(
        BuildError, match=r"recipe\.sets\[gaussian_noise/1\]\.stages\[0\]\.revision: here 99, asked for 1"
    ):
        make(sets=["contrast/3"])


class Killed(BaseException):
    pass


def kill(*_: Any, **__: Any) -> Any:
    raise Killed


@pytest.mark.parametrize("moment", ["begun", "files aside", "files in place", "manifest in place"])
def test_an_extension_killed_at_its_ends_goes_on(
    whole: Built, make: Callable[..., Built], files: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, moment: str
) -> None:
    before = make(sets=["contrast/*"])
    directory = tmp_path / "small-1.0.0"
    with monkeypatch.context() as patch:
        if moment == "begun":
            patch.setattr(committing, "remove_strays", kill)
        elif moment == "files aside":
            patch.setattr(ending, "settle", kill)
        elif moment == "files in place":
            real = os.replace
            patch.setattr(
                os,
                "replace",
                lambda source, target: kill() if Path(target).name == "manifest.json" else real(source, target),
            )
        elif moment == "manifest in place":
            patch.setattr(
                ending, "fsync_folder", lambda folder: kill() if finished(directory) != before.manifest else None
            )
            patch.setattr("corruptset.generate.commit.locks.clean_up", kill)
        with pytest.raises(Killed):
            make()
    assert (directory / ".corruptset").is_dir()
    done = moment == "manifest in place"
    assert corruptset.open(directory).digest == (whole if done else before).digest
    assert corruptset.open(directory)["contrast/3"].array().shape == (8, 64, 64, 3)
    report = corruptset.verify(directory, jobs=1)
    if moment == "begun":
        assert report.ok, report.problems
        assert "An extension by 7 sets is under way, or was stopped" in report.notes[0]
    else:
        assert "incomplete" in {p.kind for p in report.problems if p.path == ".corruptset"}
    # the end that was decided needs no source, and the sets that were there before may be asked for
    made = make(sets=["contrast/1"])
    if moment != "begun":
        assert made.digest == whole.digest
        assert files(made.directory) == files(whole.directory)
    assert files(make().directory) == files(whole.directory)


@pytest.fixture
def stopped(make: Callable[..., Built]) -> Built:
    """Two finished sets, and an extension by the others that was stopped after a few parts."""

    def stop(event: ProgressEvent) -> None:
        if event.phase == "building" and event.parts_done == 4:
            raise KeyboardInterrupt

    first = make(sets=["contrast/*"])
    with pytest.raises(Interrupted):
        make(progress=stop)
    return first


def test_a_data_set_under_extension_is_what_its_manifest_says(
    stopped: Built, make: Callable[..., Built], whole: Built, files: Any, tmp_path: Path
) -> None:
    data = corruptset.open(stopped.directory)
    assert data.set_ids == ["contrast/1", "contrast/3"]
    assert data.digest == stopped.digest
    for name in data.set_ids:
        assert len(list(data[name])) == 8
    report = corruptset.verify(stopped.directory, jobs=1)
    assert report.ok, report.problems
    assert report.notes == report.as_json()["notes"]
    assert "--abandon" in report.notes[0]
    # what is neither's is a mistake, and so is damage to what the manifest names
    stray = stopped.directory / "images/contrast/3/mine.JPEG"
    stray.write_bytes(b"")
    odd = stopped.directory / "sets/odd.jsonl"
    odd.write_bytes(b"")
    shard = next((stopped.directory / "hdf5/contrast").glob("*.h5"))
    shard.write_bytes(shard.read_bytes()[:-1])
    found = {p.path for p in corruptset.verify(stopped.directory, jobs=1).problems}
    assert found == {p.relative_to(stopped.directory).as_posix() for p in (stray, odd, shard)}
    stray.unlink()
    odd.unlink()
    # a repair mends it, and leaves the extension as it is
    parts = files(stopped.directory / ".corruptset/parts")
    assert corruptset.verify(stopped.directory, repair=True, jobs=1).mended == [
        shard.relative_to(stopped.directory).as_posix()
    ]
    assert parts
    assert files(stopped.directory / ".corruptset/parts") == parts
    # what is there is not asked for again
    assert make(sets=["contrast/*"]).images == 0
    assert files(stopped.directory / ".corruptset/parts") == parts
    # one set more, and all that the extension was asked for is made
    assert files(make(sets=["brightness/1"]).directory) == files(whole.directory)


def test_an_extension_is_taken_back(
    make: Callable[..., Built], stopped: Built, whole: Built, files: Any, tmp_path: Path
) -> None:
    there = files(stopped.directory)
    new = {s.id for s in whole.manifest.sets} - {"contrast/1", "contrast/3"}
    assert any(f"images/{s}/" in path for s in new for path in there)
    assert set(corruptset.abandon(stopped.directory)) == new
    named = {f.path for f in stopped.manifest.files} | {"manifest.json", "SHA256SUMS"}
    left = files(stopped.directory)
    assert {p for p in left if not p.startswith("images/")} == named
    assert all(there[path] == data for path, data in left.items())
    assert not (stopped.directory / "images/brightness").exists()
    report = corruptset.verify(stopped.directory, jobs=1)
    assert (report.ok, report.notes) == (True, [])
    # again, there is nothing; and it can be extended anew
    assert corruptset.abandon(stopped.directory) == ()
    assert files(stopped.directory) == left
    assert files(make().directory) == files(whole.directory)


def test_what_was_taken_back_half_counts_for_nothing(
    make: Callable[..., Built], stopped: Built, whole: Built, files: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(abandoning, "_remove", kill)
        with pytest.raises(Killed):
            corruptset.abandon(stopped.directory)
    assert files(make().directory) == files(whole.directory)


def test_an_array_that_was_damaged_is_not_recorded_anew(tmp_path: Path) -> None:
    crops = layouts.write_crops(tmp_path / "crops", each=1)
    recipe = layouts.write_recipe(tmp_path)
    root = layouts.make(recipe, crops, tmp_path / "out", sets=["contrast/*"], view="cifar-c")
    array = next(root.glob("*/contrast.npy"))
    array.write_bytes(array.read_bytes()[:-1] + b"\xff")
    layouts.make(recipe, crops, tmp_path / "out", sets=["brightness/*"], view="cifar-c")
    assert ("CIFAR-10-C/contrast.npy", "hash") in {(p.path, p.kind) for p in verifying.verify_directory(root).problems}


def test_a_build_that_was_never_finished_is_taken_back_whole(make: Callable[..., Built], tmp_path: Path) -> None:
    def stop(event: ProgressEvent) -> None:
        if event.phase == "building" and event.parts_done == 2:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted):
        make(sets=["contrast/*"], progress=stop)
    directory = tmp_path / "small-1.0.0"
    assert list(directory.rglob("*.JPEG"))
    (directory / "mine.txt").write_text("kept")
    assert corruptset.abandon(directory) == ("contrast/1", "contrast/3")
    assert [p.name for p in directory.iterdir()] == ["mine.txt"]
    for nothing in (directory, tmp_path / "nowhere"):
        with pytest.raises(BuildError, match="holds no build"):
            corruptset.abandon(nothing)
    assert not (directory / ".corruptset").exists()


def test_what_a_manifest_names_is_never_taken_back(stopped: Built, files: Any, tmp_path: Path) -> None:
    """Not even where build.json says so, nor what a link leads to."""
    state = read_unfinished(stopped.directory)
    assert state is not None
    outside = tmp_path / "outside"
    (outside / "photos").mkdir(parents=True)
    (outside / "photos/mine.JPEG").write_bytes(b"mine")
    (stopped.directory / "link").symlink_to(outside, target_is_directory=True)
    places = {
        **state.places,
        "brightness/1": ["images/contrast/1", "manifest.json", "samples.jsonl"],
        "brightness/3": ["link/photos"],
    }
    write_unfinished(stopped.directory, state.model_copy(update={"places": places}))
    named = {f.path for f in stopped.manifest.files} | {"manifest.json", "SHA256SUMS"}
    before = {
        path: data
        for path, data in files(stopped.directory).items()
        if path in named or path.startswith("images/contrast/")
    }
    corruptset.abandon(stopped.directory)
    assert before.items() <= files(stopped.directory).items()
    assert (outside / "photos/mine.JPEG").read_bytes() == b"mine"


def test_a_data_set_that_is_extended_while_it_is_verified_says_so(
    make: Callable[..., Built], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = make(sets=["contrast/*"])
    real = verifying.manifest_problems

    def extended(manifest: Any) -> Any:
        if manifest == first.manifest:
            make(sets=["brightness/1"])
        return real(manifest)

    monkeypatch.setattr(verifying, "manifest_problems", extended)
    report = verifying.verify_directory(first.directory)
    assert [(p.path, p.kind) for p in report.problems] == [("manifest.json", "incomplete")]
    assert "Verify again" in report.problems[0].detail
    assert verifying.verify_directory(first.directory).ok


def test_parts_of_other_clean_pixels_are_refused(
    make: Callable[..., Built], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As another release of Pillow makes them: within a build, and between a finished one and its extension."""
    real = jobs.preprocess

    def other(image: Any, how: Any) -> Any:
        made = real(image, how).copy()
        made[0, 0] ^= 1
        return made

    def stop(event: ProgressEvent) -> None:
        if event.phase == "building" and event.parts_done == 1:
            raise KeyboardInterrupt

    first = make(sets=["contrast/*"])
    before = layouts.files_of(first.directory)
    with monkeypatch.context() as patch:
        patch.setattr(jobs, "preprocess", other)
        with pytest.raises(
            BuildError, match=r"the sets that are there and those to be added were made from different clean pixels"
        ):
            make(sets=["brightness/*"])
    corruptset.abandon(first.directory)
    assert layouts.files_of(first.directory) == before
    with pytest.raises(Interrupted):
        make(sets=["brightness/*", "gaussian_noise/*", "contrast-3+*"], progress=stop)
    monkeypatch.setattr(jobs, "preprocess", other)
    with pytest.raises(BuildError, match=r"parts of samples 0 to 7 were made from different clean pixels.*--abandon"):
        make(sets=["brightness/*", "gaussian_noise/*", "contrast-3+*"])


def test_textures_count_only_where_sets_have_them(tmp_path: Path, files: Any) -> None:
    options: dict[str, Any] = {"jobs": 1, "samples": 1, "metrics": 0}
    build("imagenet-c", "sample", tmp_path / "a", sets=["contrast/1"], **options)
    grown = build("imagenet-c", "sample", tmp_path / "a", sets=["frost/1"], **options)
    assert grown.manifest.textures
    at_once = build("imagenet-c", "sample", tmp_path / "b", sets=["frost/1", "contrast/1"], **options)
    assert files(grown.directory) == files(at_once.directory)
    other_way = build("imagenet-c", "sample", tmp_path / "d", sets=["frost/1"], **options)
    other_way = build("imagenet-c", "sample", tmp_path / "d", sets=["contrast/1"], **options)
    assert files(other_way.directory) == files(at_once.directory)  # textures of what was there stay named
    from PIL import Image

    mine = tmp_path / "mine"
    mine.mkdir()
    Image.new("RGB", (600, 600), (200, 210, 220)).save(mine / "ice.png")
    with pytest.raises(BuildError, match="textures"):
        build("imagenet-c", "sample", tmp_path / "a", sets=["frost/2"], frost_textures=mine, **options)
    with pytest.raises(BuildError, match="textures"):
        build("imagenet-c", "sample", tmp_path / "a", sets=["fog/2"], frost_textures=mine, **options)
    own = build("imagenet-c", "sample", tmp_path / "c", sets=["frost/1"], frost_textures=mine, **options)
    assert [t.name for t in own.manifest.textures] == ["ice.png"] or len(own.manifest.textures) == 1
    assert own.digest != at_once.digest
    shutil.rmtree(mine)
