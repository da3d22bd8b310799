"""Test the recipe `pairs`, whose two-factor sets are defined on the command line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import source_archives

from example_images import digit_image

PLANNED = {
    "pairs --first-stages contrast,fade_black-01 --second-stages brightness --severities 1,3":
        "contrast-1+brightness-1 contrast-1+brightness-3 contrast-3+brightness-1 contrast-3+brightness-3 "
        "fade_black-01+brightness-1 fade_black-01+brightness-3 brightness-1+contrast-1 brightness-1+contrast-3 "
        "brightness-1+fade_black-01 brightness-3+contrast-1 brightness-3+contrast-3 brightness-3+fade_black-01",
    "pairs --first-stages contrast --second-stages brightness --severities 1,3 --orders given":
        "contrast-1+brightness-1 contrast-1+brightness-3 contrast-3+brightness-1 contrast-3+brightness-3",
    "pairs --first-stages contrast-3,gn=gaussian_noise:sigma=0.1:rounding=round --second-stages fade_black "
    "--levels 4-5 --orders given":
        "contrast-3+fade_black-04 contrast-3+fade_black-05 gn+fade_black-04 gn+fade_black-05",
    # A pair with a stage at severity 0 is the other stage alone.
    "pairs --first-stages contrast --second-stages brightness,black_lines --severities 0,2 --levels 0,7":
        "clean brightness/2 black_lines/07 contrast/2 contrast-2+brightness-2 contrast-2+black_lines-07 "
        "brightness-2+contrast-2 black_lines-07+contrast-2",
}  # fmt: skip
"""Command line -> ids of the sets, in order."""


@pytest.mark.parametrize("line", PLANNED)
def test_pairs_lists_orders_and_combinations(run, line):
    assert [s["id"] for s in run.succeeds(f"plan {line} --samples 1 --json").json["sets"]] == PLANNED[line].split()


def test_calibration_follows_source(run):
    pair = "plan pairs --first-stages contrast-1 --second-stages brightness-1 --samples 1 --json"
    assert run.succeeds(pair).json["calibration"] == "imagenet"
    other = run.succeeds(pair, "--calibration", "cifar", "--any-shape").json
    assert (other["calibration"], other["encoding"]["format"]) == ("cifar", "png")


def test_selected_calibration_is_printed_with_reason(run, tmp_path):
    digits = np.stack([digit_image(i)[:, :, 0] for i in range(4)])
    files = {
        "t10k-images-idx3-ubyte": source_archives.idx_bytes(digits),
        "t10k-labels-idx1-ubyte": source_archives.idx_bytes(range(4)),
    }
    source_archives.write_files(tmp_path / "MNIST/raw", files)
    source_archives.write_tar(
        tmp_path / "cifar-10-python.tar.gz", source_archives.cifar10_python(source_archives.random_crops(4)), "w:gz"
    )
    pair = "pairs --first-stages gaussian_blur-1 --second-stages contrast-1"
    vertical = "The Gaussian filter of gaussian_blur acts in the vertical direction only"
    resized = "As in that dataset, images are resized to 224x224 pixels and stored as JPEG, unless --encoding is given."
    for source, calibration, reason in (
        ("mnist:MNIST/raw", "mnist", "the images of mnist are 28x28 pixels and grey."),
        ("cifar10:cifar-10-python.tar.gz", "cifar", "the images of cifar10 are 32x32 pixels."),
        ("sample", "imagenet", "it is the default for every source except cifar10, cifar100, mnist."),
    ):
        chosen = f"The calibration {calibration} was chosen, because {reason}"
        notes = run.succeeds(f"plan {pair} --source {source} --json").json["notes"]
        assert [chosen in note for note in notes].count(True) == 1
        assert any(vertical in note for note in notes) == (calibration == "mnist")
        assert any(resized in note for note in notes) == (calibration == "imagenet")
    of_mnist = f"plan {pair} --source mnist:MNIST/raw"
    planned = run.succeeds(of_mnist).out
    assert "Note: The calibration mnist was chosen" in planned
    assert ", as HDF5 shards of uncompressed pixels" in planned
    explicit = run.succeeds(f"{of_mnist} --calibration mnist --json").json["notes"]
    assert not any("was chosen" in note for note in explicit)
    assert any(vertical in note for note in explicit)
    result = run.succeeds(f"build {pair} --source mnist:MNIST/raw --jobs 1 --json").json
    assert any("The calibration mnist was chosen" in note for note in result["notes"])
    assert any("2 of 2 chains have the role validation" in note for note in result["notes"])
    other = "build pairs --first-stages fog-1 --second-stages contrast-1,saturate-1 --source mnist:MNIST/raw"
    message = (
        "recipe.sets: 2 only in the existing build (gaussian_blur-1+contrast-1, contrast-1+gaussian_blur-1), 4 only in "
        "the requested build (fog-1+contrast-1, fog-1+saturate-1, contrast-1+fog-1 and 1 more) Choose"
    )
    assert "[{" not in run.fails(message, other).err
    # The finished dataset names its calibration too.
    shown, page = run.succeeds("show", result["directory"]).out, Path(result["page"]).read_text()
    for text in (shown, page):
        assert "mnist (the parameters of MNIST-C)" in text
        assert vertical in text
    assert run.succeeds("show --json", result["directory"]).json["calibration"] == "mnist"


def test_chains_excluded_from_means_are_named(run, tmp_path):
    pairs = "--first-stages gaussian_blur,saturate,fog --second-stages contrast --severities 3 --calibration imagenet"
    message = (
        "4 of 6 chains have the role validation and are excluded from means over test sets, because they contain "
        "gaussian_blur or saturate"
    )
    notes = run.succeeds(f"plan pairs {pairs} --samples 1 --json").json["notes"]
    assert any(message in note and "contrast-3+saturate-3" in note for note in notes)
    pairs = "pairs --first-stages fog --second-stages contrast"
    assert not any("means" in note for note in run.succeeds(f"plan {pairs} --samples 1 --json").json["notes"])
    (tmp_path / "own.toml").write_text(
        'name = "own"\nversion = "1"\ncalibration = "imagenet"\n[preprocessing]\nkind = "none"\n'
        '[encoding]\nformat = "png"\n[[pairs]]\nfirst = ["gaussian_blur-3"]\nsecond = ["fog-3"]\nrole = "test"\n'
    )
    plan_record = run.succeeds("plan own.toml --samples 1 --json").json
    assert {item["role"] for item in plan_record["sets"]} == {"test"}
    assert not any("means" in note for note in plan_record["notes"])
