"""Test that a stream contains the images of `corrupt` in order, can be resumed, and rejects other streams and files."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from corruptset_streams import Streamed, stream, streams
from corruptset_streams.crops import cropped, draw_crop
from PIL import Image
from small_builds import read_files
from stream_tools import accuracies_file, members, small_recipe

import corruptset
from corruptset.errors import BuildError, IncompleteBuild, MachineError, StoreError, VerificationError
from corruptset.generate.recipes.recipe import load_recipe
from corruptset.generate.sources.source import open_source
from example_images import synthetic_image


def make(folder: Path, out: Path | None = None, **options: Any) -> Streamed:
    table = {name: options.pop(name) for name in ("crops", "tar") if name in options}
    recipe, accuracies = str(small_recipe(folder, **table)), accuracies_file(folder)
    return stream(recipe, out=out or folder, accuracies=accuracies, **{"jobs": 1} | options)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Streamed:
    return make(tmp_path_factory.mktemp("stream"), seed=43)


def test_stream_has_documented_names_order_and_record(made: Streamed) -> None:
    tars = [f"serial_{n:05d}.tar" for n in range(6)]
    assert made.directory.parts[-2:] == ("small-0.1", "baseline_35_transition+speed_5_seed_43")
    assert sorted(read_files(made.directory)) == ["SHA256SUMS", "samples.jsonl", *tars, "stream.json"]
    subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=made.directory, check=True)
    images = members(made.directory)
    infos = [info for _, info, _, _ in images]
    assert [info["place"] for info in infos] == list(range(64))
    assert [tar for tar, *_ in images] == [tars[place // 12] for place in range(64)]
    record = json.loads((made.directory / "stream.json").read_text())
    assert [info["set"] for info in infos] == [name for name, _, count in record["walk"] for _ in range(count)]
    assert record["digest"] == made.digest
    # the same on every machine, for ever
    assert record["pixel_digest"] == "blake3:a3db85e1a6999987d536bb335516827b263859224f8e81b4bcb773682472b57c"
    for step in range(12):
        ids = [info["id"] for info in infos if info["step"] == step]
        assert len(set(ids)) == len(ids), "no image twice in a step while there are others"


def test_stream_image_equals_corrupted_crop(made: Streamed) -> None:
    source = open_source("sample")
    by_id = {s.id: s for s in source.samples}
    for _, info, jpeg, label in members(made.directory)[::9]:
        sample = by_id[info["id"]]
        clean = cropped(source.load(sample).image, tuple(info["crop"]), info["flipped"], (40, 40), "bilinear")
        expected = corruptset.corrupt(clean, info["set"], calibration="imagenet", seed=43, key=info["key"])
        buffer = io.BytesIO()
        Image.fromarray(expected).save(buffer, "JPEG", quality=85)
        assert (jpeg, label) == (buffer.getvalue(), sample.label)


def test_crops_match_pillow_and_torchvision_distribution_and_depend_on_key() -> None:
    boxes, flips = zip(*(draw_crop(400, 400, ["a", n]) for n in range(1000)), strict=True)
    left, top, right, bottom = np.array(boxes).T
    assert min(left.min(), top.min()) >= 0
    assert max(right.max(), bottom.max()) <= 400
    area, ratio = (right - left) * (bottom - top) / 400**2, (right - left) / (bottom - top)
    assert 0.079 < area.min() < area.max() <= 1
    assert 0.74 <= ratio.min() < ratio.max() <= 1.35
    assert 0.4 < np.mean(flips) < 0.6
    # an extreme image gets its middle
    assert (draw_crop(2000, 10, [1])[0], draw_crop(10, 2000, [1])[0]) == ((993, 0, 1006, 10), (0, 993, 10, 1006))
    assert draw_crop(500, 375, ["stream", 1, 43, "crop", "n01440764_10026@0"]) == ((76, 146, 265, 294), False)
    for channels in (1, 3):
        image = np.ascontiguousarray(synthetic_image(60, 80)[:, :, :channels])
        out = cropped(image, (5, 10, 45, 50), True, (32, 24), "bilinear")
        pil_image = Image.fromarray(image.squeeze()).crop((5, 10, 45, 50)).resize((32, 24), Image.Resampling.BILINEAR)
        np.testing.assert_array_equal(out, np.asarray(pil_image).reshape(24, 32, channels)[:, ::-1])


def test_interruptions_change_no_bytes_and_other_stream_is_rejected(
    made: Streamed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original, result = streams.make_tar, []

    def failing(*args: Any) -> int:
        if len(result) == 3:
            raise OSError(28, "No space left on device", "here")
        result.append(args)
        return original(*args)

    monkeypatch.setattr(streams, "make_tar", failing)
    with pytest.raises(MachineError, match="No space left"):
        make(tmp_path, seed=43)
    monkeypatch.undo()
    directory = next(tmp_path.glob("small-0.1/*"))
    assert not (directory / "stream.json").exists()
    (directory / "serial_00000.tar").unlink()
    (directory / ".0123456789abcdef.part").write_bytes(b"left by a killed worker")
    with pytest.raises(BuildError, match="another stream, which differs in stream\\."):
        make(tmp_path, seed=43, tar=13)
    build_result = make(tmp_path, seed=43)
    assert build_result.made == 64 - 24, "two are kept"
    assert read_files(build_result.directory) == read_files(made.directory)
    finished = make(tmp_path, seed=43)
    assert (finished.made, finished.digest) == (0, made.digest)
    with pytest.raises(BuildError, match="another stream, which differs in stream, walk\\."):
        make(tmp_path, seed=43, length=63)
    with pytest.raises(TypeError, match="unexpected keyword argument"):
        make(tmp_path, scale="side", sets=["fog/*"])
    with pytest.raises(StoreError, match="streams are written to a local folder"):
        stream("ccc-hard", out="s3://b/c")
    with pytest.raises(IncompleteBuild, match=r"is a stream of the package corruptset-streams"):
        corruptset.open(made.directory)


def test_finished_stream_is_verified_and_folder_with_other_files_is_rejected(made: Streamed, tmp_path: Path) -> None:
    folder = tmp_path / made.directory.parts[-2] / made.directory.parts[-1]
    folder.mkdir(parents=True)
    for name in ("serial_00000.tar", "stream.json", "SHA256SUMS", "photo.jpg"):
        (folder / name).write_text("[1]")
        with pytest.raises(BuildError, match=r"contains (other files .* no stream|another stream, ).*\. Choose"):
            make(tmp_path, seed=43)
        assert read_files(folder) == {name: b"[1]"}
        (folder / name).unlink()
    shutil.copytree(made.directory, folder, dirs_exist_ok=True)
    for name in ("samples.jsonl", "stream.json", "serial_00001.tar"):
        content = (folder / name).read_bytes()
        (folder / name).write_bytes(content.replace(b'"environment"', b'"Environment"') + b" ")
        with pytest.raises(VerificationError, match=f"missing or changed files, according to SHA256SUMS: {name}"):
            make(tmp_path, seed=43)
        (folder / name).write_bytes(content)


def test_digest_ignores_some_settings_and_options_override_recipe(made: Streamed, tmp_path: Path) -> None:
    other = make(tmp_path, seed=43, tar=40)
    assert other.digest == made.digest
    assert [m[1:] for m in members(other.directory)] == [m[1:] for m in members(made.directory)]
    images = members(make(tmp_path, crops="preprocessing", speed=20, length=30, samples=4).directory)
    infos = [info for _, info, _, _ in images]
    assert all("crop" not in info for info in infos)
    orders = [tuple(info["id"] for info in infos[start : start + 4]) for start in range(0, 20, 4)]
    assert {len(set(order)) for order in orders} == {4}, "every round has every image"
    assert len(set(orders)) > 1
    assert len({info["key"] for info in infos}) == 30


def test_images_may_have_no_labels(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    Image.fromarray(synthetic_image(60, 80)).save(tmp_path / "tree/a.png")
    folder = make(tmp_path, source=f"tree:{tmp_path / 'tree'}", length=3).directory
    with tarfile.open(folder / "serial_00000.tar") as archive:
        names = [f"sample_{n:08d}.{ending}" for n in range(3) for ending in ("info", "input.jpg")]
        assert archive.getnames() == names


def test_commands_lead_from_grid_to_stream(run: Any, tmp_path: Path) -> None:
    small_recipe(tmp_path)
    accuracies_file(tmp_path)
    result = run("stream", "small.toml", "--grid", "grid.toml", "--json")
    assert (result.code, result.json["sets"]) == (0, 1240)
    assert load_recipe(tmp_path / "grid.toml").name == "small-grid"
    stream_recipe = (tmp_path / "small.toml").read_bytes()
    for grid, code in (("grid.toml", 0), ("small.toml", 2)):
        assert run("stream", "small.toml", "--grid", grid).code == code, "another file stays"
    assert (tmp_path / "small.toml").read_bytes() == stream_recipe
    missing = run("stream", "small.toml")
    assert missing.code == 2
    assert "--accuracies is required" in missing.err
    options = "--accuracies accuracies.csv --speed 2 --length 5 --samples 2 --out o --jobs 1".split()
    result = run("stream", "small.toml", *options, "--json")
    schedule_record = result.json
    assert (result.code, *(schedule_record[name] for name in "images made steps tars".split())) == (0, 5, 5, 3, 1)
    directory = Path(schedule_record["directory"])
    assert directory.name == "baseline_35_transition+speed_2_seed_0"
    repeated = run("stream", "small.toml", *options)
    assert "5 images in 3 steps, 1 tars" in repeated.out
    assert schedule_record["digest"] in repeated.out
    assert run("stream", "small.toml", *options[:-2], "--speed", "0").code == 2
    for command in ("verify", "show"):
        rejected_result = run(command, directory)
        assert rejected_result.code == 1
        assert "corruptset-streams" in rejected_result.out + rejected_result.err
    (directory / "serial_00000.tar").unlink()
    damaged = run("stream", "small.toml", *options)
    assert damaged.code == 1
    assert "missing or changed files, according to SHA256SUMS: serial_00000.tar" in damaged.err


@pytest.mark.ci
def test_webdataset_reads_stream(made: Streamed) -> None:
    code = (
        "import json, sys, webdataset\n"
        "read = webdataset.WebDataset(sys.argv[1:], shardshuffle=False).decode('rgb8')\n"
        "read = read.to_tuple('input.jpg', 'output.cls', 'info')\n"
        "print(json.dumps([[json.loads(info)['place'], label, image.shape] for image, label, info in read]))"
    )
    urls = [str(p) for p in sorted(made.directory.glob("*.tar"))]
    read = json.loads(subprocess.run([sys.executable, "-c", code, *urls], check=True, capture_output=True).stdout)
    assert read == [[info["place"], label, [40, 40, 3]] for _, info, _, label in members(made.directory)]
