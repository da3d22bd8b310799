"""Test properties that every registered corruption must have. Each case runs all functions above it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from golden.digests import NAMED
from surrogates import model_arguments, model_resources

import corruptset
from corruptset.corruptions.calibrations import LADDERS, Calibration, calibrations_of, ladder, shipped
from corruptset.corruptions.keys import sample_keys
from corruptset.corruptions.registry import corruption_names, get_corruption
from corruptset.corruptions.rows import Row
from corruptset.corruptions.stages import apply_stage, chain_keys, check_images, resolve_stage
from corruptset.errors import ParameterError
from corruptset.pixels import pixel_digest
from example_images import synthetic_image

PROPERTIES: list[Callable[[str], None]] = []
SHAPES = [(8, 8, 3), (8, 8, 1), (9, 31, 3), (31, 9, 1), (31, 9, 3), (40, 24, 1)]


def register_property(function: Callable[[str], None]) -> Callable[[str], None]:
    PROPERTIES.append(function)
    return function


@pytest.mark.parametrize("name", corruption_names())
def test_every_corruption_keeps_contract(name):
    for property_ in PROPERTIES:
        property_(name)


def table_of(name: str, calibration: str = "cifar") -> Calibration:
    """Return a calibration with rows of a corruption, which is shipped or contains golden parameters."""
    calibrations = calibrations_of(name)
    if calibrations or get_corruption(name).gradual is not None:
        return shipped(calibration if calibration in calibrations or not calibrations else calibrations[0])
    rows = {severity: Row(parameters, "this test") for severity, parameters in enumerate(NAMED[name].values(), 1)}
    return Calibration(calibration, shipped(calibration).side, {name: rows})


def strengths(name: str, calibration: str = "cifar") -> list[dict[str, Any]]:
    """Return the arguments for each severity of a table, or for some levels of the ladder "text" if it is imagenet."""
    gradual, table = get_corruption(name).gradual, table_of(name, calibration)
    if gradual is None:
        return [{"severity": severity, "calibration": table} for severity in table.rows[name]]
    which = LADDERS[calibration == "imagenet"]
    return [{"level": level, "ladder": which, "calibration": table} for level in (1, 2, 6, 12, min(30, gradual.most))]


def corrupt(image, name, **options):
    return corruptset.corrupt(image, name, **model_arguments(name, image) | options)


def stage_of(name, options):
    level = options.get("level")
    row = {} if level is None else dict(ladder(options["ladder"])[name].parameters)
    return resolve_stage(name, options["calibration"], severity=options.get("severity"), level=level, parameters=row)


@register_property
def check_description(name):
    corruption = get_corruption(name)
    summary = (corruption.function.__doc__ or "").partition("\n")[0]
    assert summary.endswith((".", ":", ",")) or len(summary) > 20, "the docstring has no summary"
    assert all(declaration.about for declaration in (*corruption.parameters, *corruption.draws))
    assert corruption.reference
    assert corruption.revision >= 1
    if corruption.gradual is not None:
        for which in LADDERS:
            assert ladder(which)[name].source
            assert set(ladder(which)[name].parameters) == {p.name for p in corruption.columns}


@register_property
def check_shape_dtype_and_input(name):
    for shape in SHAPES:
        image = synthetic_image(*shape)
        before = image.copy()
        for calibration, which in (("imagenet", -1), ("cifar", 0)):
            options = strengths(name, calibration)[which]
            out = corrupt(image, name, **options)
            assert (out.dtype, out.shape) == (np.uint8, image.shape)
            assert not np.shares_memory(out, image)
            np.testing.assert_array_equal(image, before)
            np.testing.assert_array_equal(out, corrupt(image, name, **options), "not deterministic")


@register_property
def check_batch_equals_single_images(name):
    """Test that the key of an image without a key follows from its pixels."""
    ids = ["a", "b", "a", "n01440764/x y"]
    for channels in (1, 3):
        images = np.stack([synthetic_image(33, 47, channels, which) for which in range(4)])
        for options in (strengths(name)[0], strengths(name)[-1]):
            for keys in (ids, [pixel_digest(image) for image in images]):
                together = corrupt(images, name, key=keys, **options)
                for image, key, out in zip(images, keys, together, strict=True):
                    np.testing.assert_array_equal(out, corrupt(image, name, key=key, **options))
            np.testing.assert_array_equal(together, corrupt(images, name, **options))
    assert corrupt(images[:0], name, **options).shape == (0, *images.shape[1:])


@register_property
def check_array_views(name):
    image, grey, options = synthetic_image(40, 36), synthetic_image(40, 36, 1), strengths(name)[0]
    expected, frozen = corrupt(image, name, **options), image.copy()
    frozen.setflags(write=False)
    wide = np.repeat(np.repeat(image, 2, 0), 2, 1)[::2, ::2]
    for view in (wide, frozen, np.asfortranarray(image), image[:, ::-1][:, ::-1]):
        np.testing.assert_array_equal(expected, corrupt(view, name, **options))
    np.testing.assert_array_equal(corrupt(grey, name, **options)[:, :, 0], corrupt(grey[:, :, 0], name, **options))


@register_property
def check_key_and_seed(name):
    images = np.stack([synthetic_image(48, 48)] * 16)  # A draw may be one of only two signs.
    ids, drawn, options = (
        [str(number) for number in range(16)],
        not get_corruption(name).deterministic,
        strengths(name)[0] | ({"random_start": True} if name == "pgd" else {}),
    )
    outs = corrupt(images, name, key=ids, **options)
    assert (len({out.tobytes() for out in outs}) > 1) == drawn
    assert np.array_equal(outs, corrupt(images, name, key=ids, seed=1, **options)) != drawn


@register_property
def check_severity_equals_row(name):
    image, options = synthetic_image(64, 50), strengths(name, "tiny")[-1]
    if "severity" in options:
        row = options["calibration"].row(name, options["severity"]).parameters
        result = corrupt(image, name, calibration=options["calibration"], **row)
        np.testing.assert_array_equal(corrupt(image, name, **options), result)


@register_property
def check_severities_and_levels_differ(name):
    image = synthetic_image(64, 64)
    gradual = get_corruption(name).gradual
    for calibration in (calibrations_of(name) or ["imagenet"]) if gradual is None else ["imagenet", "cifar"]:
        outs = [corrupt(image, name, **options) for options in strengths(name, calibration)]
        distance = [np.mean((out.astype(float) - image) ** 2) for out in outs]
        assert min(distance) > 0, calibration
        assert len({out.tobytes() for out in outs}) == len(outs), calibration
        assert gradual is None or distance == sorted(distance), "a level is further than the one below it"


@register_property
def scale_side_is_the_table_at_its_own_size_and_grows_lengths(name):
    corruption, options = get_corruption(name), strengths(name, "tiny")[-1]
    side = options["calibration"].side
    for size, differs in (
        ((side, side + 16), False),
        ((2 * side, 2 * side + 12), any(p.length for p in corruption.parameters)),
    ):
        image = synthetic_image(*size)
        assert np.array_equal(corrupt(image, name, **options), corrupt(image, name, scale="side", **options)) != differs


@register_property
def check_rounding(name):
    corruption = get_corruption(name)
    if any(p.name == "rounding" for p in corruption.parameters) and corruption.family != "noise":
        for image in (synthetic_image(28, 28, 1), synthetic_image(40, 36)):
            rounded, floored = (
                corrupt(image, name, rounding=r, **strengths(name)[2]).astype(int) for r in ("round", "floor")
            )
            assert set(np.unique(rounded - floored)) <= {0, 1}
            assert (rounded != floored).any() or image.shape[2] == 1


@register_property
def check_coupling(name):
    first, last = (stage_of(name, options) for options in (strengths(name)[0], strengths(name)[-1]))
    assert chain_keys([first], 0, "severity") == chain_keys([last], 0, "severity")
    same = first == last or first.level is not None  # The draws of each level have their own streams.
    assert (chain_keys([first], 0) == chain_keys([last], 0)) == same


@register_property
def check_invalid_arguments(name):
    image, corruption, options = synthetic_image(32, 40), get_corruption(name), strengths(name)[0]
    invalid = [(p.name, bad) for p in corruption.columns for bad in (float("nan"), float("inf"), "text", None, -1e9)]
    invalid += [(d.name, bad) for d in corruption.draws for bad in (np.zeros((3, 5, 7, 2, 2)), "text", np.array(["x"]))]
    for parameter, bad in [*invalid, ("nonsense", 1)]:
        with pytest.raises(ParameterError, match=parameter):
            corrupt(image, name, **options | {parameter: bad})


@register_property
def check_stage_steps(name):
    """Test that the levels of one pass equal those computed alone, and that a step does not change its input."""
    images = check_images(np.stack([synthetic_image(32, 45, 3, which) for which in range(2)]))
    corruption, resources = get_corruption(name), model_resources(name, images)
    before, ids = images.copy(), sample_keys(["x", "y"])
    for options in strengths(name)[:3]:
        current, steps = images, []
        for level in range(1, options["level"] + 1) if corruption.gradual else (None,):
            stage = stage_of(name, options | ({} if level is None else {"level": level}))
            (key,) = chain_keys([stage], 7)
            previous_level = level - 1 if level and corruption.gradual.accumulates else 0
            source = current if previous_level else images
            current = apply_stage(
                source,
                stage,
                key,
                ids,
                side=options["calibration"].side,
                start_level=previous_level,
                resources=resources,
            )
            more = {} if level is None else {"level": level}
            steps.append(corruption.apply(images, stage.parameters, key, ids, **resources, **more).tobytes())
        np.testing.assert_array_equal(current, corrupt(images, name, seed=7, key=["x", "y"], **options))
        if corruption.gradual:  # No further step is applied.
            same = apply_stage(current, stage, key, ids, side=32, start_level=stage.level, resources=resources)
            assert not np.shares_memory(same, current)
            assert not corruption.gradual.accumulates or np.array_equal(same, current)
        assert corruption.deterministic or len(set(steps)) == len(steps)
    np.testing.assert_array_equal(images, before)
