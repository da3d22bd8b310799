"""Test that jobs of an array, in any order and some of them twice, give the same files as one process."""

from __future__ import annotations

import fcntl
import os
import random
import re

import pytest
import small_builds
from small_builds import read_files

import corruptset
from corruptset.errors import BuildError, IncompleteBuild, Interrupted, MissingParts, SourceError
from corruptset.generate.commit import array_jobs
from corruptset.generate.work import environment, worker

SETS = ["contrast/*", "brightness/*"]


@pytest.mark.parametrize("sink", [{"storage": "folder"}, {"storage": "hdf5"}])
def test_seven_jobs_in_any_order_equal_single_process(make, shared_data, sink):
    options = {"sets": SETS, "metrics": 8, "recipe": shared_data.recipe(), **sink}
    result = make("whole", **options)
    order = list(range(7))
    random.Random(str(sink)).shuffle(order)
    job_results = [make(part=(i, 7), **options) for i in order[:4]]
    with pytest.raises(MissingParts) as exc_info:
        make(finish=True, **options)
    assert exc_info.value.of == 7
    assert set(exc_info.value.jobs) == set(order[4:])
    assert f"part=({order[4]}, 7)" in str(exc_info.value)
    job_results += [make(part=(i, 7), **options) for i in exc_info.value.jobs]
    repeated = make(part=(order[0], 7), **options)
    assert (repeated.made, repeated.images, repeated.parts) == (0, 0, job_results[0].parts)
    finished = make(finish=True, **options)
    assert finished.images == 0
    assert sum(job_result.images for job_result in job_results) == sum(s.count for s in finished.manifest.sets)
    assert all(job_result.parts == job_result.made > 0 for job_result in job_results)
    assert read_files(finished.directory) == read_files(result.directory)
    assert {s.metrics.images for s in finished.manifest.sets} == {8}  # of both runs
    late = make(part=(1, 7), **options)
    assert (late.parts, late.images) == (0, 0)
    assert make(finish=True, **options).digest == result.digest


def test_extension_and_resume_are_shared_between_jobs(make, interrupt_build, expected_files, monkeypatch):
    """Parts that an interrupted build committed are used, even if the groups of sets differ."""
    monkeypatch.setattr("corruptset.generate.plan.parts.TARGET_PARTS", 1)  # a group a run
    root, more = make(sets=["contrast/*"]).directory, {"out": "more"}
    more["extend"] = root
    interrupt_build(1, sets=["brightness/*"], **more)
    result = [make(part=(i, 3), **more) for i in (2, 0, 1)]
    assert read_files(make(finish=True, **more).directory) == expected_files()
    assert sum(job_result.images for job_result in result) == 7 * 10 - 5 * 8  # a run of five sets stood


def test_arrays_of_several_sizes_and_final_build_complete_dataset(make, expected_files):
    make(part=(0, 3))
    make(part=(4, 5))
    with pytest.raises(MissingParts) as exc_info:
        make(finish=True)
    assert (exc_info.value.of, exc_info.value.jobs) == (5, (1, 2, 3))
    make(part=(2, 5))
    # all that is left, as after any stop
    assert read_files(make().directory) == expected_files()


def test_job_of_other_build_is_rejected_by_name(make, tmp_path):
    with pytest.raises(IncompleteBuild, match=r"contains no parts\. First build the parts with --part i/n"):
        make(finish=True)
    assert not (tmp_path / "out").exists()
    with pytest.raises(BuildError, match="part, finish and scheduler cannot be combined"):
        make(part=(0, 2), finish=True)
    make(part=(0, 2))
    for other, text in (
        ({"seed": 1}, "seed: existing 0, requested 1"),
        ({"first": 8}, "selection.first: existing None, requested 8"),
        ({"metrics": 4}, "metrics_images: existing 0, requested 4"),
        ({"storage": "hdf5"}, "storage.container"),
    ):
        with pytest.raises(BuildError, match=text):
            make(part=(1, 2), **other)


def test_only_array_jobs_run_concurrently(make):
    events = []

    def others(event):
        if event.phase == "building" and event.parts_done == 1 and not events:
            for refused in (make, lambda: make(finish=True)):
                with pytest.raises(BuildError, match="Jobs of an array"):
                    refused()
            events.append("jobs")
            assert make(part=(2, 3)).made > 0

    def beside(event):
        if event.phase == "building" and len(events) == 1:
            with pytest.raises(BuildError, match="it is not a job of an array"):
                make(part=(1, 3))
            events.append("build")

    make(part=(0, 3), progress=others)
    make(progress=beside)
    assert events == ["jobs", "build"]


def test_jobs_for_other_sets_wait_for_running_jobs_and_are_rejected(make, expected_files, tmp_path, monkeypatch):
    make(part=(0, 2), sets=["contrast/*"])
    monkeypatch.setattr(array_jobs, "WORKERS_WAIT_S", 0.1)
    monkeypatch.setattr(array_jobs, "RETRY_S", 0.1)
    with (tmp_path / "out/small-c-1.0.0.partial/.corruptset/workers").open("r+") as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        with pytest.raises(BuildError, match="building different sets"):
            make(part=(0, 2))
        make(part=(1, 2), sets=["contrast/*"])
    make(part=(0, 2))
    make(part=(1, 2))
    assert read_files(make(finish=True).directory) == expected_files()


def test_part_finished_by_other_job_is_not_rewritten(make, tmp_path, monkeypatch):
    """If both jobs made the part, an image of a committed part would be incomplete for a moment."""
    make(part=(0, 2))
    original, calls = worker.process, []

    def late(job, part, *args):
        if calls:
            return original(job, part)
        calls.append(original(job, part))
        images = {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*.JPEG")}
        result = original(job, part)
        assert (result.name, result.images) == (part.name, 0)
        assert {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*.JPEG")} == images
        return result

    monkeypatch.setattr("corruptset.generate.work.pool.process", late)
    result = make(part=(1, 2))
    assert result.made == result.parts - 1


def test_array_checks_source_once_and_detects_later_changes(recipe, tmp_path, monkeypatch):
    source, looked_at, real = (
        small_builds.write_crops(tmp_path / "source", classes=3, each=4),
        list[str](),
        array_jobs.check,
    )
    bad = source / "01_class/im.2.png"
    original = bad.read_bytes()

    def check(source, chosen, **options):
        looked_at.extend(sample.path for sample in chosen)
        return real(source, chosen, **options)

    def make(out, **options):
        build_options = {
            "jobs": 1,
            "metrics": 0,
            "sets": ["contrast/*"],
            "page": False,
            "any_shape": True,
            "storage": "folder",
        }
        return corruptset.build(recipe, f"folder:{source}", tmp_path / out, **build_options | options)

    monkeypatch.setattr(array_jobs, "check", check)
    monkeypatch.setattr(array_jobs, "BLOCK", 4)
    bad.write_bytes(b"not an image")
    with pytest.raises(SourceError, match=r"01_class/im\.2\.png"):
        make("out", part=(0, 2))
    result = make("whole", skip_bad=True)
    looked_at.clear()
    for i in (1, 0):
        make("skipped", part=(i, 2), skip_bad=True)
    assert sorted(looked_at) == sorted(p.relative_to(source).as_posix() for p in source.glob("*/*"))
    finished = make("skipped", finish=True, skip_bad=True)
    assert [e.path for e in finished.manifest.excluded] == ["01_class/im.2.png"]
    assert read_files(finished.directory) == read_files(result.directory)
    bad.write_bytes(original)  # mended: what was found before counts no more
    make("out", part=(0, 2))
    looked_at.clear()
    (source / "02_class/im.3.png").write_bytes(original)
    with pytest.raises(SourceError, match=r"02_class/im\.3\.png has changed since the source was checked"):
        make("out", part=(1, 2))
    assert not looked_at


def test_job_names_process_it_waits_for(make, monkeypatch):
    """Otherwise a job that hangs during the check of a block would block the other jobs without an explanation."""
    original, waited = array_jobs.check, list[str]()

    def look(event):
        if event.phase == "waiting":
            waited.append(event.waiting_for)
            raise KeyboardInterrupt

    def check(*args, **options):
        if not waited:
            with pytest.raises(Interrupted):
                make(part=(1, 2), progress=look)
        return original(*args, **options)

    monkeypatch.setattr(array_jobs, "check", check)
    monkeypatch.setattr(array_jobs, "NOTICE_S", 0.0)
    make(part=(0, 2))
    assert re.fullmatch(rf"process {os.getpid()} on .+, which checks 10 images from 00_class/im\.\d on", waited[0])


def test_library_versions_of_all_parts_are_recorded(make, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(environment, "version", lambda name: "0.1")
        environment.environment.cache_clear()
        make(part=(0, 2))
    environment.environment.cache_clear()
    make(part=(1, 2))
    finished = make(finish=True)
    present = environment.environment()
    assert finished.manifest.environment == {name: f"0.1, {release}" for name, release in present.items()}
    (note,) = (note for note in finished.notes if "library versions" in note)
    assert f"pillow 0.1, {present['pillow']}" in note
    assert not any("library versions" in spec for spec in make(out="one").notes)
