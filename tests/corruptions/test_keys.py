"""Stage keys and sample keys: pinned, and equal or different where the design says so."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from corruptset.corruptions.calibrations import Calibration, Row
from corruptset.corruptions.keys import MAX_SEED, check_seed, hash64, sample_key, sample_keys, stage_key
from corruptset.corruptions.stages import chain_keys, resolve_stage
from corruptset.errors import ParameterError

TABLE = Calibration(
    "made for this test",
    32,
    {
        "gaussian_noise": {1: Row({"sigma": 0.5}, ""), 2: Row({"sigma": 1.0}, "")},
        "shot_noise": {1: Row({"photons": 60.0}, ""), 2: Row({"photons": 25.0}, "")},
    },
)
OTHER = Calibration("another", 224, {"gaussian_noise": {4: Row({"sigma": 0.5}, "")}})


def stage(name="gaussian_noise", table=TABLE, **kwargs):
    return resolve_stage(name, table, **kwargs)


def test_a_key_is_blake2b_of_canonical_json():
    text = '[1,0,[["gaussian_noise@1",{"sigma":0.08}]]]'
    expected = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")
    assert int(stage_key(0, [("gaussian_noise@1", {"sigma": 0.08})])) == expected
    name = int.from_bytes(hashlib.blake2b(b'"n01440764_10026"', digest_size=8).digest(), "little")
    assert int(sample_key("n01440764_10026")) == name


PINNED = [
    (lambda: sample_key("0"), "0xc14dcbdf3e3db02"),
    (lambda: sample_key("ILSVRC2012_val_00000001"), "0xa983e0526bdc3dd8"),
    (lambda: sample_key("test/00042"), "0x8884afc5844f89ac"),
    (lambda: sample_key("Käse/ü 1"), "0x6f1ede995bf9a168"),
    (lambda: stage_key(0, [("gaussian_noise@1", {"sigma": 0.08})]), "0x2b458a26b02c405b"),
    (lambda: stage_key(MAX_SEED, [("gaussian_noise@1", {"sigma": 0.08})]), "0x192f8267ca6ad54f"),
    (
        lambda: stage_key(7, [("shot_noise@1", {"photons": 60.0}), ("gaussian_noise@2", {"sigma": 0.1})]),
        "0x9844fda9fee0bec",
    ),
    (lambda: stage_key(0, [("fog@1", {})]), "0x151bba434c7e0ad8"),
]


@pytest.mark.parametrize(("make", "expected"), PINNED)
def test_pinned_keys(make, expected):
    assert hex(make()) == expected


def test_whole_numbers_are_one_whatever_their_type():
    assert stage_key(0, [("a@1", {"x": 1})]) == stage_key(0, [("a@1", {"x": 1.0})])
    assert hash64(1) == hash64(1.0)


def test_severity_and_its_row_given_explicitly_have_one_key():
    (by_severity,) = chain_keys([stage(severity=1)], 0)
    assert chain_keys([stage(parameters={"sigma": 0.5})], 0) == [by_severity]
    assert chain_keys([stage(table=OTHER, severity=4)], 0) == [by_severity], (
        "two tables with equal numbers have one key"
    )


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


def test_a_stage_key_does_not_know_what_follows():
    alone = chain_keys([stage(severity=1)], 3)
    both = chain_keys([stage(severity=1), stage("shot_noise", severity=2)], 3)
    assert both[0] == alone[0]
    assert both[1] != alone[0]


def test_coupled_severities_share_their_key():
    one, two = (chain_keys([stage(severity=s)], 0, "severity") for s in (1, 2))
    assert one == two
    # A parameter that was given, rather than read off a severity, stays in.
    assert chain_keys([stage(parameters={"sigma": 0.5})], 0, "severity") != one
    assert chain_keys([stage(severity=1)], 0) != one


def test_sample_keys_in_order():
    keys = sample_keys(["b", "a", "b"])
    assert keys.dtype == np.uint64
    assert keys.tolist() == [int(sample_key("b")), int(sample_key("a")), int(sample_key("b"))]


@pytest.mark.parametrize("seed", [0, 1, MAX_SEED, np.int64(5)])
def test_seeds_accepted(seed):
    assert check_seed(seed) == int(seed)


@pytest.mark.parametrize("seed", [-1, MAX_SEED + 1, 1.0, "1", True, None])
def test_seeds_refused(seed):
    with pytest.raises(ParameterError, match="expected a whole number from 0 to"):
        check_seed(seed)
