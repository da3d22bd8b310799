"""More sets extend a finished build to what one build of all would be; anything else that differs is refused."""

import os
from pathlib import Path
from typing import Any

import pytest
from layouts import files_of
from PIL import Image

import corruptset
from corruptset.errors import BuildError, Interrupted
from corruptset.generate.build import build
from corruptset.generate.commit import abandon as abandoning
from corruptset.generate.commit import last_files as ending
from corruptset.generate.commit import state as committing
from corruptset.generate.commit.locks import finished
from corruptset.generate.plan import job as jobs
from corruptset.manifests.unfinished import read_unfinished, write_unfinished
from corruptset.manifests.verify import ladder as verifying

CONTRAST = [f"contrast/{s}" for s in range(1, 6)]


def stamps(root: Path) -> dict[Path, int]:
    return {p: p.stat().st_mtime_ns for p in root.rglob("*") if p.is_file()}


def test_an_extension_equals_the_union_and_makes_nothing_again(make, whole):
    first = make(sets=["contrast/*"])
    assert first.images == 50
    before = stamps(first.directory)
    again = make(sets=["contrast/3"])
    assert (again.images, again.digest) == (0, first.digest)
    assert stamps(first.directory) == before
    second = make(sets=["contrast/1", "brightness/1"])
    assert second.images == 10
    assert [s.id for s in second.manifest.sets] == ["brightness/1", *CONTRAST]
    assert corruptset.verify(second.directory, jobs=1).ok
    kept = {p for p in before if "images" in p.parts or "hdf5" in p.parts}
    assert len(kept) == 60
    assert stamps(first.directory).items() >= {(p, before[p]) for p in kept}
    assert files_of(make().directory) == whole()


DIFFERENCES: list[tuple[dict[str, Any], str]] = [
    ({"seed": 7}, "seed: here 0, asked for 7"),
    ({"coupling": "severity"}, "coupling: here 'independent', asked for 'severity'"),
    ({"scale": "side"}, "scale: here 'none', asked for 'side'"),
    ({"samples": 3}, r"source\.digest: here 'sha256:"),
    ({"storage": "folder"}, r"encoding\.containers"),
    ({"optimize": True}, r"encoding\.optimize: here False, asked for True"),
    ({"metrics": 2}, "metrics: here 0, asked for 2"),
    ({"calibration": "tiny"}, r"recipe\.calibration: here 'cifar', asked for 'tiny'"),
]


@pytest.mark.parametrize("state", ["finished", "interrupted"])
def test_another_build_is_refused_with_the_difference(make, stopped, shared, tmp_path, state):
    stopped(1, sets=["contrast/1"]) if state == "interrupted" else make(sets=["contrast/1"])
    before = files_of(tmp_path)
    other = shared.recipe(encoding="jpeg", channels="keep")
    for option, field in [*DIFFERENCES, ({"recipe": other}, r"preprocessing\.channels: here 'rgb', asked for 'keep'")]:
        for sets in (["contrast/1"], ["contrast/*"]):
            with pytest.raises(BuildError, match=field) as caught:
                make(sets=sets, **option)
            assert caught.value.exit_code == 2
    assert files_of(tmp_path) == before


def test_another_revision_of_a_corruption_is_another_build(make, monkeypatch):
    make(sets=["contrast/1"])
    real = committing.identity_of

    def older(manifest):
        record = real(manifest)
        record["recipe"]["sets"][0]["stages"][0]["revision"] = 99
        return record

    monkeypatch.setattr(committing, "identity_of", older)
    with pytest.raises(BuildError, match=r"recipe\.sets\[contrast/1\]\.stages\[0\]\.revision: here 99, asked for 1"):
        make(sets=["contrast/3"])


class Killed(BaseException):
    pass


def kill(*_: Any, **__: Any) -> Any:
    raise Killed


@pytest.mark.parametrize("moment", ["begun", "files aside", "files in place", "manifest in place"])
def test_an_extension_killed_at_its_ends_goes_on(make, whole, monkeypatch, moment):
    before = make(sets=["contrast/*"])
    directory = before.directory
    with monkeypatch.context() as patch:
        if moment == "begun":
            patch.setattr(committing, "remove_strays", kill)
        elif moment == "files aside":
            patch.setattr(ending, "settle", kill)
        elif moment == "files in place":
            real = os.replace
            patch.setattr(os, "replace", lambda of, to: kill() if Path(to).name == "manifest.json" else real(of, to))
        else:
            extended = lambda folder: kill() if finished(directory) != before.manifest else None  # noqa: E731
            patch.setattr(ending, "fsync_folder", extended)
            patch.setattr("corruptset.generate.commit.locks.clean_up", kill)
        with pytest.raises(Killed):
            make()
    assert (directory / ".corruptset").is_dir()
    data = corruptset.open(directory)
    assert (data.digest == before.digest) == (moment != "manifest in place")
    assert data["contrast/3"].array().shape == (10, 32, 32, 3)
    report = corruptset.verify(directory, jobs=1)
    if moment == "begun":
        assert report.ok, report.problems
        assert "An extension by 7 sets is under way, or was stopped" in report.notes[0]
    else:
        assert "incomplete" in {p.kind for p in report.problems if p.path == ".corruptset"}
    # the end that was decided needs no source, and the sets that were there before may be asked for
    make(sets=["contrast/1"])
    assert moment == "begun" or files_of(directory) == whole()
    assert files_of(make().directory) == whole()


def test_a_data_set_under_extension_is_what_its_manifest_says(make, stopped, whole, shared):
    first = make(sets=["contrast/*"])
    root, parts = first.directory, first.directory / ".corruptset/parts"
    stopped(4)
    data = corruptset.open(root)
    assert (data.set_ids, data.digest) == (CONTRAST, first.digest)
    assert all(len(list(data[name])) == 10 for name in data.set_ids)
    report = corruptset.verify(root, jobs=1)
    assert report.ok, report.problems
    assert "--abandon" in report.notes[0]
    # what is neither's is a mistake, and so is damage to what the manifest names
    stray, odd = root / "images/contrast/3/mine.JPEG", root / "sets/odd.jsonl"
    for path in (stray, odd):
        path.write_bytes(b"")
    shard = next((root / "hdf5/contrast").glob("*.h5"))
    shard.write_bytes(shard.read_bytes()[:-1])
    found = {root / p.path for p in corruptset.verify(root, jobs=1).problems}
    assert found == {stray, odd, shard}
    stray.unlink()
    odd.unlink()
    # a repair mends it, and leaves the extension as it is; what is there is not asked for again
    committed = files_of(parts)
    assert committed
    report = corruptset.verify(root, repair=True, jobs=1, source=f"folder:{shared.crops(each=1)}")
    assert report.mended == [shard.relative_to(root).as_posix()]
    assert make(sets=["contrast/*"]).images == 0
    assert files_of(parts) == committed
    # one set more, and all that the extension was asked for is made
    assert files_of(make(sets=["brightness/1"]).directory) == whole()


def test_an_extension_is_taken_back(make, stopped, whole, tmp_path, monkeypatch):
    first = make(sets=["contrast/*"])
    root, before = first.directory, files_of(first.directory)
    stopped(4)
    new = {"clean", "contrast-3+brightness-2", *(f"brightness/{s}" for s in range(1, 6))}
    assert any(f"images/{s}/" in path for s in new for path in files_of(root))
    assert set(corruptset.abandon(root)) == new
    assert files_of(root) == before
    assert not (root / "images/brightness").exists()
    assert corruptset.verify(root, jobs=1).notes == []
    assert corruptset.abandon(root) == ()  # there is nothing more
    # what is taken back half counts for nothing
    stopped(4)
    with monkeypatch.context() as patch:
        patch.setattr(abandoning, "_remove", kill)
        with pytest.raises(Killed):
            corruptset.abandon(root)
    assert files_of(make().directory) == whole()


def test_what_a_manifest_names_is_never_taken_back(make, stopped, tmp_path):
    """Not even where build.json says so, nor what a link leads to."""
    root = make(sets=["contrast/*"]).directory
    before = files_of(root)
    stopped(4)
    state = read_unfinished(root)
    assert state is not None
    mine = tmp_path / "outside/photos/mine.JPEG"
    mine.parent.mkdir(parents=True)
    mine.write_bytes(b"mine")
    (root / "link").symlink_to(tmp_path / "outside", target_is_directory=True)
    places = {
        **state.places,
        "brightness/1": ["images/contrast/1", "manifest.json", "samples.jsonl"],
        "brightness/3": ["link/photos"],
    }
    write_unfinished(root, state.model_copy(update={"places": places}))
    corruptset.abandon(root)
    assert before.items() <= files_of(root).items()
    assert mine.read_bytes() == b"mine"


def test_a_build_that_was_never_finished_is_taken_back_whole(make, stopped, tmp_path):
    stopped(2, sets=["contrast/*"])
    root = tmp_path / "out/small-c-1.0.0"
    assert list(root.rglob("*.JPEG"))
    (root / "mine.txt").write_text("kept")
    assert corruptset.abandon(root) == tuple(CONTRAST)
    assert [p.name for p in root.iterdir()] == ["mine.txt"]
    for nothing in (root, tmp_path / "nowhere"):
        with pytest.raises(BuildError, match="holds no build"):
            corruptset.abandon(nothing)
    assert not (root / ".corruptset").exists()


def test_an_array_that_was_damaged_is_not_recorded_anew(make, shared):
    options = {"view": "cifar-c", "recipe": shared.recipe()}
    root = make(sets=["contrast/*"], **options).directory
    array = next(root.glob("*/contrast.npy"))
    array.write_bytes(array.read_bytes()[:-1] + b"\xff")
    make(sets=["brightness/*"], **options)
    assert ("CIFAR-10-C/contrast.npy", "hash") in {(p.path, p.kind) for p in verifying.verify_directory(root).problems}


def test_a_data_set_that_is_extended_while_it_is_verified_says_so(make, monkeypatch):
    first = make(sets=["contrast/1"])
    real = verifying.manifest_problems

    def extended(manifest):
        if manifest == first.manifest:
            make(sets=["brightness/1"])
        return real(manifest)

    monkeypatch.setattr(verifying, "manifest_problems", extended)
    (problem,) = verifying.verify_directory(first.directory).problems
    assert (problem.path, problem.kind) == ("manifest.json", "incomplete")
    assert "Verify again" in problem.detail
    assert verifying.verify_directory(first.directory).ok


def test_parts_of_other_clean_pixels_are_refused(make, stopped, monkeypatch, tmp_path):
    """As another release of Pillow makes them: within a build, and between a finished one and its extension."""
    real = jobs.preprocess

    def other(image, how):
        made = real(image, how).copy()
        made[0, 0] ^= 1
        return made

    root = make(sets=["contrast/*"]).directory
    before = files_of(root)
    with monkeypatch.context() as patch:
        patch.setattr(jobs, "preprocess", other)
        with pytest.raises(BuildError, match="the sets that are there and those to be added were made from different"):
            make(sets=["brightness/*"])
    corruptset.abandon(root)
    assert files_of(root) == before
    stopped(1, sets=["brightness/*"])
    monkeypatch.setattr(jobs, "preprocess", other)
    with pytest.raises(BuildError, match=r"parts of samples 0 to 7 were made from different clean pixels.*--abandon"):
        make(sets=["brightness/*"])


def test_textures_count_only_where_sets_have_them(tmp_path):
    def made(out, *sets, **more):
        return build("imagenet-c", "sample", tmp_path / out, sets=sets, jobs=1, samples=1, metrics=0, **more)

    made("a", "contrast/1")
    grown = made("a", "frost/1")
    assert grown.manifest.textures
    at_once = made("b", "frost/1", "contrast/1")
    made("c", "frost/1")
    other_way = made("c", "contrast/1")  # textures of what was there stay named
    assert files_of(grown.directory) == files_of(at_once.directory) == files_of(other_way.directory)
    mine = tmp_path / "mine"
    mine.mkdir()
    Image.new("RGB", (600, 600), (200, 210, 220)).save(mine / "ice.png")
    for sets in ("frost/2", "fog/2"):
        with pytest.raises(BuildError, match="textures"):
            made("a", sets, frost_textures=mine)

    def stop(event):
        if event.phase == "finishing":
            raise KeyboardInterrupt

    made("d", "contrast/1")
    with pytest.raises(Interrupted):
        made("d", "frost/1", progress=stop)
    own = made("d", "frost/1", frost_textures=mine)  # the part with the others is made again
    assert len(own.manifest.textures) == 1
    assert own.digest != at_once.digest
