"""Streams: images as `corrupt` makes them, in order, the same for any jobs and after a kill, refused where they are
another's.
"""

from __future__ import annotations

import io
import json
import shutil
import signal
import subprocess
import sys
import tarfile
import time
from pathlib import Path
from typing import Any

import pytest
from corruptset_streams import Streamed, stream, streams
from corruptset_streams.crops import cropped
from PIL import Image
from stream_tools import accuracies_file, members, small_recipe

import corruptset
from corruptset.errors import BuildError, CorruptsetError, IncompleteBuild, MachineError, StoreError, VerificationError
from corruptset.generate.sources.source import open_source
from pictures import painted


def tree(directory: Path) -> dict[str, bytes]:
    return {p.relative_to(directory).as_posix(): p.read_bytes() for p in sorted(directory.rglob("*")) if p.is_file()}


def make(folder: Path, out: Path | None = None, **options: Any) -> Streamed:
    table = {name: options.pop(name) for name in ("crops", "speed", "length", "tar") if name in options}
    return stream(
        str(small_recipe(folder, **table)),
        out=out or folder,
        accuracies=accuracies_file(folder),
        **{"jobs": 1} | options,
    )


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Streamed:
    return make(tmp_path_factory.mktemp("stream"), seed=43)


def test_names_order_and_manifest(made: Streamed) -> None:
    assert made.directory.parts[-2:] == ("small-0.1", "baseline_35_transition+speed_5_seed_43")
    assert sorted(tree(made.directory)) == [
        "SHA256SUMS",
        "samples.jsonl",
        *(f"serial_{n:05d}.tar" for n in range(6)),
        "stream.json",
    ]
    subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=made.directory, check=True)
    images = members(made.directory)
    assert [info["place"] for _, info, _, _ in images] == list(range(64))
    assert [name for name, *_ in images] == [f"serial_{place // 12:05d}.tar" for place in range(64)]
    manifest = json.loads((made.directory / "stream.json").read_text())
    assert [info["set"] for _, info, _, _ in images] == [
        name for name, _, count in manifest["walk"] for _ in range(count)
    ]
    assert manifest["digest"] == made.digest
    for step in range(12):
        ids = [info["id"] for _, info, _, _ in images if info["step"] == step]
        assert len(set(ids)) == len(ids), "no image twice in a step while there are others"


def test_an_image_is_what_corrupt_makes_of_its_crop(made: Streamed) -> None:
    source = open_source("sample")
    by_id = {s.id: s for s in source.samples}
    for _, info, jpeg, label in members(made.directory)[::9]:
        sample = by_id[info["id"]]
        clean = cropped(source.load(sample).image, tuple(info["crop"]), info["flipped"], (40, 40), "bilinear")
        want = corruptset.corrupt(clean, info["set"], calibration="imagenet", seed=43, key=info["key"])
        buffer = io.BytesIO()
        Image.fromarray(want).save(buffer, "JPEG", quality=85)
        assert (jpeg, label) == (buffer.getvalue(), sample.label)


def test_the_digest_is_the_same_for_ever(made: Streamed) -> None:
    manifest = json.loads((made.directory / "stream.json").read_text())
    assert manifest["pixel_digest"] == "blake3:a3db85e1a6999987d536bb335516827b263859224f8e81b4bcb773682472b57c"


def test_jobs_and_interruptions_change_no_byte(made: Streamed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, done = streams.make_tar, []

    def failing(*given: Any) -> int:
        if len(done) == 3:
            raise OSError(28, "No space left on device", "here")
        done.append(given)
        return real(*given)

    monkeypatch.setattr(streams, "make_tar", failing)
    with pytest.raises(MachineError, match="No space left"):
        make(tmp_path, seed=43)
    monkeypatch.undo()
    directory = next(tmp_path.glob("small-0.1/*"))
    assert not (directory / "stream.json").exists()
    (directory / "serial_00000.tar").unlink()
    (directory / ".0123456789abcdef.part").write_bytes(b"left by a killed worker")
    with pytest.raises(BuildError, match="another stream: stream differ"):
        make(tmp_path, seed=43, tar=13)
    again = make(tmp_path, seed=43)
    assert again.made == 64 - 24, "two are kept"
    assert tree(again.directory) == tree(made.directory)
    finished = make(tmp_path, seed=43, jobs=None)
    assert (finished.made, finished.digest) == (0, made.digest)
    with pytest.raises(BuildError, match="another stream: stream, walk differ"):
        make(tmp_path, seed=43, length=63)


@pytest.mark.parametrize("name", ["serial_00001.tar", "samples.jsonl", "stream.json"])
def test_a_finished_stream_is_checked(made: Streamed, tmp_path: Path, name: str) -> None:
    folder = tmp_path / made.directory.parts[-2] / made.directory.parts[-1]
    shutil.copytree(made.directory, folder)
    path = folder / name
    path.write_bytes(path.read_bytes().replace(b'"environment"', b'"Environment"') + b" ")
    with pytest.raises(VerificationError, match=f"not as SHA256SUMS says are {name}"):
        make(tmp_path, seed=43)
    if name != "stream.json":
        path.unlink()
        with pytest.raises(VerificationError, match=name):
            make(tmp_path, seed=43)


def test_the_core_says_what_reads_a_stream(made: Streamed) -> None:
    with pytest.raises(IncompleteBuild, match=r"is a changing stream: .*corruptset-streams"):
        corruptset.open(made.directory)
    assert "corruptset-streams" in corruptset.verify(made.directory).problems[0].detail


def test_streams_go_to_a_disk() -> None:
    with pytest.raises(StoreError, match="streams are written to a local folder"):
        stream("ccc-hard", out="s3://b/c")


@pytest.mark.parametrize("name", ["serial_00000.tar", "stream.json", "SHA256SUMS", "photo.jpg"])
def test_a_folder_with_other_files_is_refused(made: Streamed, tmp_path: Path, name: str) -> None:
    folder = tmp_path / made.directory.parts[-2] / made.directory.parts[-1]
    folder.mkdir(parents=True)
    (folder / name).write_text("[1]")
    with pytest.raises(
        BuildError, match=r"(is not empty and holds no stream|holds another stream: ).*\. Choose another"
    ):
        make(tmp_path, seed=43)
    assert tree(folder) == {name: b"[1]"}
    assert [path.name for path in folder.iterdir()] == [name]


def test_options_of_other_builds_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="takes no scale, sets"):
        make(tmp_path, scale="side", sets=["fog/*"])


def test_speed_and_length_in_place_of_the_recipes(tmp_path: Path) -> None:
    with pytest.raises(CorruptsetError, match="speed is 0"):
        stream(str(small_recipe(tmp_path)), accuracies=accuracies_file(tmp_path), speed=0)
    given = stream(
        str(small_recipe(tmp_path)), out=tmp_path / "a", accuracies=accuracies_file(tmp_path), speed=3, length=7, jobs=1
    )
    own = make(tmp_path, tmp_path / "b", speed=3, length=7)
    assert (given.images, given.steps, given.tars, given.digest) == (7, 3, 1, own.digest)


def test_tars_and_containers_are_outside_the_digest(made: Streamed, tmp_path: Path) -> None:
    other = make(tmp_path, seed=43, tar=40)
    assert other.digest == made.digest
    assert [m[1:] for m in members(other.directory)] == [m[1:] for m in members(made.directory)]


def test_fixed_crops_and_more_images_than_samples(tmp_path: Path) -> None:
    images = members(make(tmp_path, crops="preprocessing", speed=20, length=30, samples=4).directory)
    assert all("crop" not in info for _, info, _, _ in images)
    for start in range(0, 20, 4):
        assert len({info["id"] for _, info, _, _ in images[start : start + 4]}) == 4, "every round has every image"
    assert len({info["key"] for _, info, _, _ in images}) == 30
    orders = {tuple(info["id"] for _, info, _, _ in images[start : start + 4]) for start in range(0, 20, 4)}
    assert len(orders) > 1


def test_images_without_labels(tmp_path: Path) -> None:
    Image.fromarray(painted(60, 80)).save(tmp_path / "a.png")
    (tmp_path / "tree").mkdir()
    (tmp_path / "a.png").rename(tmp_path / "tree" / "a.png")
    folder = make(tmp_path, source=f"tree:{tmp_path / 'tree'}", length=3).directory
    with tarfile.open(folder / "serial_00000.tar") as archive:
        assert archive.getnames() == [f"sample_{n:08d}.{ending}" for n in range(3) for ending in ("info", "input.jpg")]


@pytest.mark.ci
def test_a_killed_command_is_resumed_and_webdataset_reads_it(made: Streamed, tmp_path: Path) -> None:
    small_recipe(tmp_path)
    accuracies_file(tmp_path)
    options = ["--accuracies", "accuracies.csv", "--seed", "43", "--out", "o", "-j", "2"]
    command = [sys.executable, "-m", "corruptset", "stream", "small.toml", *options]
    directory = tmp_path / "o" / made.directory.parts[-2] / made.directory.parts[-1]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not list(directory.glob("serial_*.tar")) and process.poll() is None:
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not (directory / "stream.json").exists(), "it was killed too late to say anything"
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    assert tree(directory) == tree(made.directory)
    code = (
        "import json, sys, webdataset\n"
        "read = webdataset.WebDataset(sys.argv[1:], shardshuffle=False).decode('rgb8').to_tuple('input.jpg', "
        "'output.cls', 'info')\n"
        "print(json.dumps([[json.loads(info)['place'], label, image.shape] for image, label, info in read]))"
    )
    urls = [str(p) for p in sorted(directory.glob("*.tar"))]
    read = json.loads(subprocess.run([sys.executable, "-c", code, *urls], check=True, capture_output=True).stdout)
    assert read == [[info["place"], label, [40, 40, 3]] for _, info, _, label in members(made.directory)]
