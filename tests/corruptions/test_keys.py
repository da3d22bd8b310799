"""Test stage keys and sample keys against fixed values and the specification."""

from __future__ import annotations

import numpy as np
import pytest
from specification import plain

from corruptset.corruptions.calibrations import Calibration, Row
from corruptset.corruptions.keys import (
    MAX_SEED,
    STREAMS_PER_LEVEL,
    check_seed,
    hash64,
    level_stream,
    sample_key,
    sample_keys,
    stage_key,
)
from corruptset.corruptions.stages import chain_keys, resolve_stage
from corruptset.errors import ParameterError

ROWS = {
    "gaussian_noise": {1: Row({"sigma": 0.5}, ""), 2: Row({"sigma": 1.0}, "")},
    "shot_noise": {1: Row({"photons": 60.0}, ""), 2: Row({"photons": 25.0}, "")},
}
TABLE = Calibration("made for this test", 32, ROWS)
OTHER = Calibration("another", 224, {"gaussian_noise": {4: ROWS["gaussian_noise"][1]}})


def stage(severity=None, name="gaussian_noise", table=TABLE, **more):
    return resolve_stage(name, table, severity=severity, **more)


def test_keys_are_pinned_and_match_specification():
    samples = {"ILSVRC2012_val_00000001": "0xa983e0526bdc3dd8", "Käse/ü 1": "0x6f1ede995bf9a168"}
    for name, pinned in samples.items():
        assert hex(sample_key(name)) == pinned == hex(plain.key64(name))
    assert sample_keys(samples).tolist() == [int(pinned, 16) for pinned in samples.values()]
    noises = [("shot_noise@1", {"photons": 60.0}), ("gaussian_noise@2", {"sigma": 0.1})]
    for seed, chain, pinned in (
        (MAX_SEED, [("gaussian_noise@1", {"sigma": 0.08})], "0x192f8267ca6ad54f"),
        (7, noises, "0x9844fda9fee0bec"),
        (0, [("fog@1", {})], "0x151bba434c7e0ad8"),
    ):
        assert hex(stage_key(seed, chain)) == pinned == hex(plain.stage_key(seed, chain))
    assert hash64(1) == hash64(1.0), "whole numbers are one whatever their type"


def test_keys_depend_only_on_specified_inputs():
    def key(*chain, seed=0, coupling="independent"):
        return int(chain_keys([*chain], seed, coupling)[-1])

    first, second, shot = stage(1), stage(2), stage(1, "shot_noise")
    explicit = stage(parameters={"sigma": 0.5})
    assert key(first) == key(explicit) == key(stage(4, table=OTHER)), "the same numbers from wherever have one key"
    keys = {key(first), key(second), key(first, seed=1), key(shot, first), key(second, first)}
    assert len(keys | {key(stage(2, "shot_noise"), first), key(first, coupling="severity")}) == 7
    assert stage_key(0, [("a@1", {})]) != stage_key(0, [("a@2", {})])
    assert int(chain_keys([first, shot], 0)[0]) == key(first), "a stage does not know what follows"
    # of coupled severities; a parameter that was given, rather than read off a severity, stays in
    assert key(first, coupling="severity") == key(second, coupling="severity") != key(explicit, coupling="severity")
    streams = {int(level_stream(k, d)) for k in range(100) for d in range(STREAMS_PER_LEVEL)}
    assert len(streams) == 100 * STREAMS_PER_LEVEL


def test_seeds_are_integers_up_to_two_to_the_53():
    assert [check_seed(seed) for seed in (0, MAX_SEED, np.int64(5))] == [0, MAX_SEED, 5]
    for seed in (-1, MAX_SEED + 1, 1.0, "1", True, None):
        with pytest.raises(ParameterError, match="expected a whole number from 0 to"):
            check_seed(seed)
