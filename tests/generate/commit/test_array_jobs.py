"""Jobs of an array make shares of one build: in any order, some twice, and what they make is what one process makes."""

from __future__ import annotations

import fcntl
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import layouts
import pytest

import corruptset
from corruptset.errors import BuildError, IncompleteBuild, MissingParts, SourceError
from corruptset.generate.build import Built, PartBuilt, ProgressEvent
from corruptset.generate.commit import array_jobs
from corruptset.generate.work import worker

SINKS: dict[str, dict[str, Any]] = {
    "folder": {"format": "folder"},
    "hdf5": {"format": "hdf5"},
    "view": {"view": "cifar-c"},
}
SETS = ["contrast/*", "brightness/*"]


@pytest.fixture
def make(crops: Path, recipe: Path, tmp_path: Path) -> Callable[..., Any]:
    """Build two corruptions of twenty crops in this process: three runs."""

    def run(out: str = "out", **options: Any) -> Any:
        given = {"jobs": 1, "metrics": 8, "sets": SETS, "format": "folder", "page": False, "any_shape": True, **options}
        if "view" in given:
            del given["format"]
        return corruptset.build(recipe, f"folder:{crops}", tmp_path / out, **given)

    return run


@pytest.mark.parametrize("sink", SINKS)
def test_seven_jobs_in_any_order_make_what_one_process_makes(make: Callable[..., Any], sink: str) -> None:
    whole = make("whole", **SINKS[sink])
    order = list(range(7))
    random.Random(sink).shuffle(order)
    made: list[PartBuilt] = [make(part=(i, 7), **SINKS[sink]) for i in order[:4]]
    with pytest.raises(MissingParts) as caught:
        make(finish=True, **SINKS[sink])
    assert caught.value.of == 7
    assert set(caught.value.jobs) == set(order[4:])
    assert f"part=({order[4]}, 7)" in str(caught.value)
    made += [make(part=(i, 7), **SINKS[sink]) for i in caught.value.jobs]
    again: PartBuilt = make(part=(order[0], 7), **SINKS[sink])
    assert (again.made, again.images) == (0, 0)
    assert again.parts == made[0].parts
    finished: Built = make(finish=True, **SINKS[sink])
    assert finished.images == 0
    assert sum(one.images for one in made) == sum(s.count for s in finished.manifest.sets)
    assert all(one.parts == one.made > 0 for one in made)
    assert finished.digest == whole.digest
    assert layouts.files_of(finished.directory) == layouts.files_of(whole.directory)
    late: PartBuilt = make(part=(1, 7), **SINKS[sink])
    assert (late.parts, late.images) == (0, 0)
    assert make(finish=True, **SINKS[sink]).digest == whole.digest


def test_an_extension_and_a_resume_are_shared_too(
    make: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was committed by a build that was stopped counts, also in other groups, and the finished build stays as it
    is until the end.
    """
    monkeypatch.setattr("corruptset.generate.plan.parts.PARTS_WANTED", 1)  # a group a run
    whole = make("whole", sets=["*"])
    make(sets=["contrast/*"])

    def stop(event: ProgressEvent) -> None:
        if event.phase == "building" and event.parts_done == 2:
            raise KeyboardInterrupt

    with pytest.raises(corruptset.errors.Interrupted):
        make(sets=["brightness/*"], progress=stop)
    made = [make(sets=["*"], part=(i, 3)) for i in (2, 0, 1)]
    assert len(corruptset.open(tmp_path / "out" / "small-c-1.0.0")) == 5
    finished = make(sets=["*"], finish=True)
    assert layouts.files_of(finished.directory) == layouts.files_of(whole.directory)
    assert sum(one.images for one in made) == 7 * 20 - 5 * 16  # two runs of five sets stood


def test_arrays_of_several_sizes_and_a_build_of_the_rest(make: Callable[..., Any]) -> None:
    whole = make("whole")
    make(part=(0, 3))
    make(part=(4, 5))
    with pytest.raises(MissingParts) as caught:
        make(finish=True)
    assert caught.value.of == 5
    assert caught.value.jobs == (1, 2, 3)
    make(part=(2, 5))
    # all that is left, as after any stop
    assert layouts.files_of(make().directory) == layouts.files_of(whole.directory)


def test_what_is_no_job_of_the_same_build_is_refused_by_name(make: Callable[..., Any], tmp_path: Path) -> None:
    with pytest.raises(IncompleteBuild, match="holds no parts: make them first, with --part i/n"):
        make(finish=True)
    assert not (tmp_path / "out").exists()
    with pytest.raises(BuildError, match="part, finish and scheduler exclude each other"):
        make(part=(0, 2), finish=True)
    make(part=(0, 2))
    for other, text in (
        ({"seed": 1}, "seed: here 0, asked for 1"),
        ({"first": 8}, "selection.first: here None, asked for 8"),
        ({"metrics": 4}, "metrics: here 8, asked for 4"),
        ({"format": "hdf5"}, "encoding.containers"),
    ):
        with pytest.raises(BuildError, match=text):
            make(part=(1, 2), **other)


def test_only_jobs_of_an_array_work_beside_each_other(make: Callable[..., Any], tmp_path: Path) -> None:
    seen: list[str] = []

    def others(event: ProgressEvent) -> None:
        if event.phase == "building" and event.parts_done == 1 and not seen:
            for given in ({}, {"finish": True}):
                with pytest.raises(BuildError, match="Jobs of an array") as caught:
                    make(**given)
                seen.append(str(caught.value))
            with pytest.raises(BuildError, match="Jobs of an array"):
                corruptset.abandon(tmp_path / "out" / "small-c-1.0.0")
            assert make(part=(2, 3)).made > 0

    make(part=(0, 3), progress=others)
    assert len(seen) == 2

    def beside(event: ProgressEvent) -> None:
        if event.phase == "building" and len(seen) == 2:
            with pytest.raises(BuildError, match="it is no job of an array"):
                make(part=(1, 3))
            seen.append("refused")

    make(progress=beside)
    assert seen[-1] == "refused"


def test_jobs_of_other_sets_wait_for_those_at_work_and_are_refused(
    make: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(part=(0, 2), sets=["contrast/*"])
    monkeypatch.setattr("corruptset.generate.commit.array_jobs.WORKERS_WAIT_S", 0.1)
    monkeypatch.setattr("corruptset.generate.commit.array_jobs.LOOK_AGAIN_S", 0.1)
    fd = os.open(tmp_path / "out/small-c-1.0.0/.corruptset/workers", os.O_RDWR)
    fcntl.flock(fd, fcntl.LOCK_SH)
    with pytest.raises(BuildError, match="making other sets"):
        make(part=(0, 2))
    make(part=(1, 2), sets=["contrast/*"])
    os.close(fd)
    make(part=(0, 2))
    make(part=(1, 2))
    assert layouts.files_of(make(finish=True).directory) == layouts.files_of(make("whole").directory)


def test_a_part_that_another_job_has_made_meanwhile_is_not_touched(
    make: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both jobs saw that it was missing; an image that is written again would be half for a moment, in a part that is
    committed.
    """
    make("half", part=(0, 2))
    real, stamps = worker.process, []

    def late(job: Any, part: Any, *made: Any) -> Any:
        if not stamps:
            stamps.append(real(job, part))
            images = {p: p.stat().st_mtime_ns for p in tmp_path.glob("half/*/images/**/*.png")}
            done = real(job, part)
            assert (done.name, done.images) == (part.name, 0)
            assert {p: p.stat().st_mtime_ns for p in tmp_path.glob("half/*/images/**/*.png")} == images
            return done
        return real(job, part)

    monkeypatch.setattr("corruptset.generate.work.pool.process", late)
    built = make("half", part=(1, 2))
    assert built.made == built.parts - 1


@pytest.fixture
def looked_at(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The images that jobs decoded when they checked the source."""
    names: list[str] = []
    real = array_jobs.check

    def check(source: Any, chosen: Any, **options: Any) -> Any:
        names.extend(sample.path for sample in chosen)
        return real(source, chosen, **options)

    monkeypatch.setattr(array_jobs, "check", check)
    monkeypatch.setattr(array_jobs, "BLOCK", 4)
    return names


def test_an_array_checks_the_source_once(recipe: Path, tmp_path: Path, looked_at: list[str]) -> None:
    source = layouts.write_crops(tmp_path / "source", classes=3, each=4)
    bad = source / "01_class" / "im.2.png"
    good = bad.read_bytes()
    bad.write_bytes(b"not an image")

    def make(**options: Any) -> Any:
        given = {
            "jobs": 1,
            "metrics": 0,
            "sets": ["contrast/*"],
            "page": False,
            "any_shape": True,
            "format": "folder",
            **options,
        }
        return corruptset.build(recipe, f"folder:{source}", tmp_path / given.pop("out", "out"), **given)

    with pytest.raises(SourceError, match=r"01_class/im\.2\.png"):
        make(part=(0, 2))
    bad.write_bytes(good)  # mended: what was found before counts no more
    make(part=(0, 2))
    looked_at.clear()
    make(part=(1, 2))
    make(finish=True)
    assert not looked_at
    bad.write_bytes(b"not an image")
    whole = make(out="whole", skip_bad=True)
    for i in (1, 0):
        make(part=(i, 2), out="skipped", skip_bad=True)
    assert sorted(looked_at) == sorted(p.relative_to(source).as_posix() for p in source.glob("*/*"))
    finished = make(finish=True, out="skipped", skip_bad=True)
    assert [e.path for e in finished.manifest.excluded] == ["01_class/im.2.png"]
    assert layouts.files_of(finished.directory) == layouts.files_of(whole.directory)


def test_an_image_that_changes_after_the_check_is_noticed_by_the_job_that_reads_it(
    recipe: Path, tmp_path: Path
) -> None:
    source = layouts.write_crops(tmp_path / "source", classes=4, each=4)

    def make(**options: Any) -> Any:
        given = {"jobs": 1, "metrics": 0, "sets": ["contrast/*"], "page": False, "any_shape": True, **options}
        return corruptset.build(recipe, f"folder:{source}", tmp_path / "out", **given)

    make(part=(0, 2))
    (source / "03_class/im.3.png").write_bytes((source / "00_class/im.0.png").read_bytes())
    with pytest.raises(SourceError, match=r"im\.3\.png has changed since the source was checked"):
        make(part=(1, 2))


def test_what_was_begun_is_taken_back(make: Callable[..., Any], tmp_path: Path) -> None:
    make(part=(0, 2))
    assert set(corruptset.abandon(tmp_path / "out" / "small-c-1.0.0")) == {
        f"{c[:-2]}/{s}" for c in SETS for s in range(1, 6)
    }
    assert not (tmp_path / "out" / "small-c-1.0.0").exists()
