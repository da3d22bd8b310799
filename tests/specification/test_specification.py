"""The package gives the bytes of the specification in plain Python, stage by stage and in chains."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from specification import plain

import corruptset
from corruptset.corruptions.calibrations import SHIPPED, shipped
from example_images import synthetic_image

ROWS = (("imagenet", 1), ("cifar", 3), ("tiny", 5))
NAMES = "gaussian_noise impulse_noise contrast brightness pixelate motion_blur".split()
SLOW = ("shot_noise", "speckle_noise")
"""Their tables have a distribution of sixty digits for every level: pictures of some levels take a part of the time."""


def apply_specification(image, chain, sample, seed):
    """Return a chain's output by the specification: [(name, columns)]."""
    pil_image = image.tolist()
    for i, (name, parameters) in enumerate(chain):
        key = plain.stage_key(seed, [(f"{n}@1", p) for n, p in chain[: i + 1]])
        pil_image = getattr(plain, name)(pil_image, key, sample, **parameters)
    return np.array(pil_image, np.uint8)


def columns(name, calibration, severity):
    return dict(shipped(calibration).row(name, severity).parameters)


def check(name, calibration, severity, *, apart=1):
    """Compare on two pictures, whose levels are so far apart from each other, with black and white beside them."""
    for image, sample in (
        (synthetic_image(19, 26), "ILSVRC2012_val_00000001"),
        (synthetic_image(21, 13, 1), "test/00007"),
    ):
        if apart > 1:
            image = image // apart * apart + severity
            image[0, :2] = [0], [255]
        expected = apply_specification(image, [(name, columns(name, calibration, severity))], sample, 20)
        result = corruptset.corrupt(image, name, severity=severity, calibration=calibration, key=sample, seed=20)
        np.testing.assert_array_equal(result, expected, f"{calibration} {severity}")


@pytest.mark.parametrize("name", [*NAMES, *(pytest.param(name, marks=pytest.mark.ci) for name in SLOW)])
def test_single_stages_match_specification(name):
    for calibration, severity in ROWS[name.endswith("noise") :]:
        check(name, calibration, severity, apart=32 if name in SLOW else 1)


@pytest.mark.long
@pytest.mark.parametrize("name", [*NAMES, *SLOW])
def test_every_row_matches_specification(name):
    for calibration in SHIPPED:
        for severity in range(1, 6) if calibration != "mnist" else ():
            check(name, calibration, severity)


def test_chains_are_keyed_by_all_previous_stages():
    chain = {"contrast": 2, "gaussian_noise": 5, "impulse_noise": 4}
    plainly, image = (
        [(name, columns(name, "cifar", severity)) for name, severity in chain.items()],
        synthetic_image(17, 22),
    )
    result = corruptset.corrupt(image, list(chain.items()), calibration="cifar", key="a/b", seed=3)
    np.testing.assert_array_equal(result, apply_specification(image, plainly, "a/b", 3))
    assert not np.array_equal(result, apply_specification(image, plainly[1:], "a/b", 3))


def test_specification_imports_nothing_from_corruptset():
    imports = re.findall(r"^(?:from|import) (\w+)", Path(plain.__file__).read_text(encoding="utf-8"), re.MULTILINE)
    assert imports == ["__future__", "hashlib", "json", "math", "decimal", "typing"]
