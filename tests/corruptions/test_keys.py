"""Stage keys and sample keys.

Pinned, those of the specification, and equal or different where the design says so.
"""

from __future__ import annotations

import numpy as np
import pytest
from specification import plain

from corruptset.corruptions.calibrations import Calibration, Row
from corruptset.corruptions.keys import (
    MAX_SEED,
    STREAMS_A_LEVEL,
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


def stage(name="gaussian_noise", table=TABLE, **kwargs):
    return resolve_stage(name, table, **kwargs)


def test_keys_are_pinned_and_those_of_the_specification():
    samples = {
        "0": "0xc14dcbdf3e3db02", "ILSVRC2012_val_00000001": "0xa983e0526bdc3dd8", "test/00042": "0x8884afc5844f89ac",
        "Käse/ü 1": "0x6f1ede995bf9a168",
    }  # fmt: skip
    for name, pinned in samples.items():
        assert hex(sample_key(name)) == pinned == hex(plain.key64(name))
    assert sample_keys(samples).tolist() == [int(pinned, 16) for pinned in samples.values()]
    gaussian = ("gaussian_noise@1", {"sigma": 0.08})
    for seed, chain, pinned in (
        (0, [gaussian], "0x2b458a26b02c405b"),
        (MAX_SEED, [gaussian], "0x192f8267ca6ad54f"),
        (7, [("shot_noise@1", {"photons": 60.0}), ("gaussian_noise@2", {"sigma": 0.1})], "0x9844fda9fee0bec"),
        (0, [("fog@1", {})], "0x151bba434c7e0ad8"),
    ):
        assert hex(stage_key(seed, chain)) == pinned == hex(plain.stage_key(seed, chain))
    assert hash64(1) == hash64(1.0), "whole numbers are one whatever their type"


def test_severity_and_its_row_given_explicitly_have_one_key():
    by_severity = chain_keys([stage(severity=1)], 0)
    assert chain_keys([stage(parameters={"sigma": 0.5})], 0) == by_severity
    assert chain_keys([stage(table=OTHER, severity=4)], 0) == by_severity, "two tables with equal numbers have one key"


def test_what_makes_keys_differ():
    chains = [
        ([stage(severity=1)], 0),
        ([stage(severity=2)], 0),
        ([stage(severity=1)], 1),
        ([stage("shot_noise", severity=1), stage(severity=1)], 0),
        ([stage("shot_noise", severity=2), stage(severity=1)], 0),
        ([stage(severity=2), stage(severity=1)], 0),
    ]
    assert len({int(chain_keys(chain, seed)[-1]) for chain, seed in chains}) == len(chains)
    assert stage_key(0, [("a@1", {})]) != stage_key(0, [("a@2", {})])
    # a stage key does not know what follows
    assert (
        chain_keys([stage(severity=1), stage("shot_noise", severity=2)], 3)[0] == chain_keys([stage(severity=1)], 3)[0]
    )
    assert len({int(level_stream(k, d)) for k in range(100) for d in range(STREAMS_A_LEVEL)}) == 100 * STREAMS_A_LEVEL


def test_coupled_severities_share_their_key():
    one, two = (chain_keys([stage(severity=s)], 0, "severity") for s in (1, 2))
    assert one == two
    # a parameter that was given, rather than read off a severity, stays in
    assert chain_keys([stage(parameters={"sigma": 0.5})], 0, "severity") != one
    assert chain_keys([stage(severity=1)], 0) != one


def test_seeds_are_whole_numbers_up_to_two_to_the_53():
    assert [check_seed(seed) for seed in (0, MAX_SEED, np.int64(5))] == [0, MAX_SEED, 5]
    for seed in (-1, MAX_SEED + 1, 1.0, "1", True, None):
        with pytest.raises(ParameterError, match="expected a whole number from 0 to"):
            check_seed(seed)
