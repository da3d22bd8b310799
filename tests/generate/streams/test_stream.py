"""Streams: images as `corrupt` makes them, in order, the same for any jobs and after a kill, refused where they are another's."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from PIL import Image
from streams import RECIPE, made_accuracies, members, small_stream

import corruptset
from corruptset.errors import BuildError, MachineError, RecipeError
from corruptset.generate.sources.source import open_source
from corruptset.generate.streams import stream as stream_module
from corruptset.generate.streams.crops import cropped
from corruptset.generate.streams.stream import Streamed, stream
from corruptset.manifests.disk.hashed import read_hashed, write_hashed

ACCURACIES = made_accuracies(small_stream())


def tree(directory: Path) -> dict[str, bytes]:
    return {p.relative_to(directory).as_posix(): p.read_bytes() for p in sorted(directory.rglob("*")) if p.is_file()}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Streamed:
    return stream(small_stream(), "sample", tmp_path_factory.mktemp("stream"), accuracies=ACCURACIES, seed=43, jobs=1)


def test_names_order_and_manifest(made: Streamed) -> None:
    assert made.directory.parts[-2:] == ("small-0.1", "baseline_35_transition+speed_5_seed_43")
    assert sorted(tree(made.directory)) == ["SHA256SUMS", "samples.jsonl", *(f"serial_{n:05d}.tar" for n in range(6)), "stream.json"]
    subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=made.directory, check=True)
    images = members(made.directory)
    assert [info["place"] for _, info, _, _ in images] == list(range(64))
    assert [name for name, *_ in images] == [f"serial_{place // 12:05d}.tar" for place in range(64)]
    manifest = json.loads((made.directory / "stream.json").read_text())
    assert [info["set"] for _, info, _, _ in images] == [name for name, _, count in manifest["walk"] for _ in range(count)]
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
    assert made.manifest["pixel_digest"] == "blake3:a3db85e1a6999987d536bb335516827b263859224f8e81b4bcb773682472b57c"


def test_jobs_and_interruptions_change_no_byte(made: Streamed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, done = stream_module.make_tar, []

    def failing(job: object, number: int) -> int:
        if len(done) == 3:
            raise OSError(28, "No space left on device", "here")
        done.append(number)
        return real(job, number)

    monkeypatch.setattr(stream_module, "make_tar", failing)
    with pytest.raises(MachineError, match="No space left"):
        stream(small_stream(), "sample", tmp_path, accuracies=ACCURACIES, seed=43, jobs=1)
    monkeypatch.undo()
    directory = next(tmp_path.glob("small-0.1/*"))
    assert not (directory / "stream.json").exists()
    foreign = directory / ".corruptset" / "serial_00000.json"
    write_hashed(foreign, (read_hashed(foreign) or b"").replace(b'"identity": "sha256:', b'"identity": "sha256:0'))
    os.truncate(directory / "serial_00001.tar", 100)
    (directory / ".0123456789abcdef.part").write_bytes(b"left by a killed worker")
    with pytest.raises(BuildError, match="another stream, which is not finished"):
        stream(small_stream(tar=13), "sample", tmp_path, accuracies=ACCURACIES, seed=43, jobs=1)
    again = stream(small_stream(), "sample", tmp_path, accuracies=ACCURACIES, seed=43, jobs=1)
    assert again.made == 64 - 12, "the third is kept"
    assert tree(again.directory) == tree(made.directory)
    finished = stream(small_stream(), "sample", tmp_path, accuracies=ACCURACIES, seed=43)
    assert (finished.made, finished.digest) == (0, made.digest)
    with pytest.raises(BuildError, match="another stream: stream"):
        stream(small_stream(length=63), "sample", tmp_path, accuracies=ACCURACIES, seed=43, jobs=1)


def test_tars_and_containers_are_outside_the_digest(made: Streamed, tmp_path: Path) -> None:
    other = stream(small_stream(tar=40), "sample", tmp_path, accuracies=ACCURACIES, seed=43, jobs=1)
    assert other.digest == made.digest
    assert [m[1:] for m in members(other.directory)] == [m[1:] for m in members(made.directory)]


def test_fixed_crops_and_more_images_than_samples(tmp_path: Path) -> None:
    recipe = small_stream(crops="preprocessing", speed=20, length=30)
    made = stream(recipe, "sample", tmp_path, accuracies=ACCURACIES, samples=4, jobs=1)
    images = members(made.directory)
    assert all("crop" not in info for _, info, _, _ in images)
    for start in range(0, 20, 4):
        assert len({info["id"] for _, info, _, _ in images[start : start + 4]}) == 4, "every round has every image"
    assert len({info["key"] for _, info, _, _ in images}) == 30
    orders = {tuple(info["id"] for _, info, _, _ in images[start : start + 4]) for start in range(0, 20, 4)}
    assert len(orders) > 1


def test_missing_accuracies_are_named() -> None:
    with pytest.raises(RecipeError, match=r"accuracies of 2 of 1240 sets are missing: brightness-0p5\+contrast-0p5, contrast/5"):
        stream(small_stream(), accuracies={k: v for k, v in ACCURACIES.items() if k not in ("contrast/5", "brightness-0p5+contrast-0p5")})


def test_a_folder_with_something_else_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "small-0.1" / "baseline_35_transition+speed_5_seed_0"
    folder.mkdir(parents=True)
    (folder / "serial_00000.tar").write_bytes(b"somebody's")
    with pytest.raises(BuildError, match="is not empty and holds no stream"):
        stream(small_stream(), "sample", tmp_path, accuracies=ACCURACIES, jobs=1)
    assert (folder / "serial_00000.tar").read_bytes() == b"somebody's"


@pytest.mark.ci
def test_a_killed_command_is_resumed_and_webdataset_reads_it(made: Streamed, tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(RECIPE)
    (tmp_path / "accuracies.json").write_text(json.dumps({"sets": {name: {"accuracy": value} for name, value in ACCURACIES.items()}}))
    command = [
        sys.executable,
        "-m",
        "corruptset",
        "stream",
        "small.toml",
        "--accuracies",
        "accuracies.json",
        "--seed",
        "43",
        "--out",
        "o",
        "-j",
        "2",
    ]
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
        "read = webdataset.WebDataset(sys.argv[1:], shardshuffle=False).decode('rgb8').to_tuple('input.jpg', 'output.cls', 'info')\n"
        "print(json.dumps([[json.loads(info)['place'], label, image.shape] for image, label, info in read]))"
    )
    urls = [str(p) for p in sorted(directory.glob("*.tar"))]
    read = json.loads(subprocess.run([sys.executable, "-c", code, *urls], check=True, capture_output=True).stdout)
    assert read == [[info["place"], label, [40, 40, 3]] for _, info, _, label in members(made.directory)]
