"""What was drawn is what the corruption draws: given, it makes the very same image."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from corruptset import corrupt
from corruptset.corruptions.calibrations import get_calibration
from corruptset.corruptions.registry import corruption_names, get_corruption
from corruptset.corruptions.stages import parse_chain
from corruptset.generate.page.known import drawn_values, known_corruption
from corruptset.manifests.reader import DataSet
from corruptset.manifests.records.models import SetRecord

NAMED = {"motion_blur": "angle_deg", "snow": "angle_deg", "shear": "sign", "rotate": "sign"}


def test_these_have_numbers_to_show() -> None:
    found = {
        c: draw.name
        for c in corruption_names()
        for draw in get_corruption(c).draws
        if draw.drawn is not None and draw.is_number
    }
    assert found == NAMED


@pytest.mark.parametrize("name", NAMED)
def test_given_the_drawn_value_the_image_is_the_same(plain: Path, name: str) -> None:
    data = DataSet(plain)
    calibration = "mnist" if name in ("shear", "rotate") else "cifar"
    rows = get_calibration(calibration).rows[name]
    (stage,) = parse_chain(f"{name}/{max(rows)}", get_calibration(calibration))
    record: SetRecord = data.manifest.sets[0].model_copy(
        update={"stages": [type(data.manifest.sets[0].stages[0])(**stage.as_json())]}
    )
    ids = ["one", "two/3", "three"]
    values = [float(v) for v in drawn_values(data.manifest, record, ids)[NAMED[name]].split(", ")]
    image = np.random.default_rng(0).integers(0, 256, (32, 32, 3), np.uint8)
    for sample, value in zip(ids, values, strict=True):
        options = {"severity": max(rows), "calibration": calibration, "key": sample, "seed": data.manifest.seed}
        drawn = corrupt(image, name, **options)
        given = corrupt(image, name, **options, **{NAMED[name]: value if NAMED[name] == "angle_deg" else int(value)})
        # four digits of an angle are shown
        assert np.abs(drawn.astype(int) - given).mean() < (1 if NAMED[name] == "angle_deg" else 1e-9)


def test_what_is_fixed_or_unknown_shows_nothing(plain: Path) -> None:
    data = DataSet(plain)
    record = data.manifest.sets[0]
    stage = record.stages[0].model_copy(
        update={"corruption": "motion_blur", "revision": 99, "parameters": {"radius": 3, "sigma": 1}}
    )
    assert drawn_values(data.manifest, record.model_copy(update={"stages": [stage]}), ["a"]) == {}
    broken = stage.model_copy(update={"revision": 1, "parameters": {}})
    assert drawn_values(data.manifest, record.model_copy(update={"stages": [broken]}), ["a"]) == {}
    parameters = {"angle_deg": 30.0, "direction": "clockwise"}
    fixed = stage.model_copy(
        update={"corruption": "rotate", "revision": get_corruption("rotate").revision, "parameters": parameters}
    )
    assert drawn_values(data.manifest, record.model_copy(update={"stages": [fixed]}), ["a"]) == {}


def test_what_is_known_of_every_corruption() -> None:
    for name in corruption_names():
        known = known_corruption(name)
        assert known.family == get_corruption(name).family
        assert known.summary
        assert known.drawn
        assert "`" not in known.summary + "".join(known.notes)
    assert any("drifts" in note for note in known_corruption("glass_blur").notes)
    assert known_corruption("unheard_of").family == "other"
