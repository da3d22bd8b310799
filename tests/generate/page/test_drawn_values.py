"""What was drawn is what the corruption draws: given, it makes the very same image."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from corruptset import corrupt
from corruptset.corruptions.calibrations import get_calibration
from corruptset.corruptions.registry import corruption_names, get_corruption
from corruptset.corruptions.stages import parse_chain
from corruptset.generate.page.known import drawn_values, known_corruption
from corruptset.manifests.reader import DataSet

NAMED = {"motion_blur": "angle_deg", "snow": "angle_deg", "shear": "sign", "rotate": "sign"}


def test_given_the_drawn_value_the_image_is_the_same(plain: Path) -> None:
    draws = [(c, draw) for c in corruption_names() for draw in get_corruption(c).draws]
    assert {c: draw.name for c, draw in draws if draw.drawn is not None and draw.is_number} == NAMED
    data = DataSet(plain)
    record, ids = data.manifest.sets[0], ["one", "two/3", "three"]
    image = np.random.default_rng(0).integers(0, 256, (32, 32, 3), np.uint8)
    for name, draw in NAMED.items():
        calibration = "mnist" if name in ("shear", "rotate") else "cifar"
        most = max(get_calibration(calibration).rows[name])
        (stage,) = parse_chain(f"{name}/{most}", get_calibration(calibration))
        drawing = record.model_copy(update={"stages": [type(record.stages[0])(**stage.as_json())]})
        values = [float(v) for v in drawn_values(data.manifest, drawing, ids)[draw].split(", ")]
        for sample, value in zip(ids, values, strict=True):
            options = {"severity": most, "calibration": calibration, "key": sample, "seed": data.manifest.seed}
            drawn = corrupt(image, name, **options)
            given = corrupt(image, name, **options, **{draw: value if draw == "angle_deg" else int(value)})
            # four digits of an angle are shown
            assert np.abs(drawn.astype(int) - given).mean() < (1 if draw == "angle_deg" else 1e-9), name


def test_what_is_fixed_or_unknown_shows_nothing(plain: Path) -> None:
    data = DataSet(plain)
    record = data.manifest.sets[0]
    parameters = {"radius": 3, "sigma": 1}
    rotated = {"angle_deg": 30.0, "direction": "clockwise"}
    for corruption, revision, given in (
        ("motion_blur", 99, parameters),
        ("motion_blur", 1, {}),
        ("rotate", get_corruption("rotate").revision, rotated),
    ):
        stage = {"corruption": corruption, "revision": revision, "parameters": given}
        fixed = record.model_copy(update={"stages": [record.stages[0].model_copy(update=stage)]})
        assert drawn_values(data.manifest, fixed, ["a"]) == {}


def test_what_is_known_of_every_corruption() -> None:
    for name in corruption_names():
        known = known_corruption(name)
        assert known.family == get_corruption(name).family
        assert known.summary
        assert known.drawn
        assert "`" not in known.summary + "".join(known.notes)
    assert any("drifts" in note for note in known_corruption("glass_blur").notes)
    assert known_corruption("unheard_of").family == "other"
