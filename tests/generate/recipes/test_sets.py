"""From entries of a recipe to sets: levels, own stages, chains, pairs, and the mistakes in them."""

from __future__ import annotations

import numpy as np
import pytest
from own_recipes import HEAD, NAMED, mistakes, recipe

import corruptset
from corruptset.corruptions.stages import chain_keys


def test_levels():
    specs = (
        recipe('[[sets]]\ncorruptions = ["fade_black"]\nlevels = 3\n[[sets]]\nchain = ["fade_black-30", "fog-2"]\n')
        .resolve()
        .sets
    )
    assert [s.id for s in specs] == ["fade_black/01", "fade_black/02", "fade_black/03", "fade_black-30+fog-2"]
    assert [(t.level, t.severity) for t in specs[3].stages] == [(30, None), (None, 2)]
    some = recipe('[[sets]]\ncorruptions = ["fade_black"]\nlevels = [5, 10]\n')
    assert [s.id for s in some.resolve().sets] == ["fade_black/05", "fade_black/10"]


def test_stages_of_ones_own_name_their_sets():
    sets = (
        '[[sets]]\nchain = ["gn010"]\n[[sets]]\nchain = ["dark", "gn010"]\naliases = ["D G"]\n[[sets]]\nchain = '
        '["fog-1", "gn010"]\n'
    )
    specs = recipe(NAMED + sets).resolve().sets
    assert [s.id for s in specs] == ["gn010", "dark+gn010", "fog-1+gn010"]
    assert specs[1].aliases == ("D G",)
    assert dict(specs[0].stages[0].parameters) == {"sigma": 0.1}
    assert specs[1].stages[0].level == 4


def test_pairs_in_both_orders_and_in_the_given_one():
    both = recipe(
        '[[pairs]]\nfirst = ["fog"]\nsecond = ["snow", "contrast-5"]\nseverities = [1, 2]\nsecond_severities = [3]\n'
    )
    ids = [s.id for s in both.resolve().sets]
    there = ["fog-1+snow-3", "fog-1+contrast-5", "fog-2+snow-3", "fog-2+contrast-5"]
    assert ids == [*there, "snow-3+fog-1", "snow-3+fog-2", "contrast-5+fog-1", "contrast-5+fog-2"]
    given = recipe('[[pairs]]\nfirst = ["fog"]\nsecond = ["contrast-5"]\nseverities = [1, 2]\norders = "given"\n')
    assert [s.id for s in given.resolve().sets] == ["fog-1+contrast-5", "fog-2+contrast-5"]
    own = recipe(NAMED + '[[pairs]]\nfirst = ["gn010"]\nsecond = ["fade_black"]\nlevels = [2]\nrole = "train"\n')
    assert [(s.id, s.role) for s in own.resolve().sets] == [
        ("gn010+fade_black-02", "train"),
        ("fade_black-02+gn010", "train"),
    ]


def test_severity_0_and_level_0_are_the_clean_images():
    """As in ``corrupt(image, "fog", severity=0)``."""
    own = recipe(
        '[[sets]]\ncorruptions = ["fog", "snow"]\nseverities = [0, 2]\n[[sets]]\ncorruptions = ["fade_black"]\nlevels '
        "= [0, 1]\n"
    )
    assert [s.id for s in own.resolve().sets] == ["clean", "fog/2", "snow/2", "fade_black/01"]
    specs = recipe('[[pairs]]\nfirst = ["fog"]\nsecond = ["snow"]\nseverities = [0, 2]\n').resolve().sets
    assert {s.id: s.aliases for s in specs} == {
        "clean": ("fog-0+snow-0", "snow-0+fog-0"),
        "snow/2": ("fog-0+snow-2", "snow-2+fog-0"),
        "fog/2": ("fog-2+snow-0", "snow-0+fog-2"),
        "fog-2+snow-2": (),
        "snow-2+fog-2": (),
    }
    named = (
        recipe(NAMED + '[[pairs]]\nfirst = ["gn010"]\nsecond = ["fog"]\nseverities = [0, 1]\norders = "given"\n')
        .resolve()
        .sets
    )
    assert [(s.id, s.aliases) for s in named] == [("gn010", ("gn010+fog-0",)), ("gn010+fog-1", ())]


def test_a_corruption_paired_with_itself_draws_twice():
    specs = (
        recipe('[[pairs]]\nfirst = ["gaussian_noise"]\nsecond = ["gaussian_noise"]\nseverities = [2]\n').resolve().sets
    )
    assert [s.id for s in specs] == ["gaussian_noise-2+gaussian_noise-2"]
    one, two = chain_keys(specs[0].stages, 0)
    assert one != two
    flat = np.full((64, 64, 3), 128, np.uint8)
    once = corruptset.corrupt(flat, "gaussian_noise", severity=2).astype(float)
    twice = corruptset.corrupt(flat, specs[0].id) - once
    assert abs(np.corrcoef(once.ravel(), twice.ravel())[0, 1]) < 0.04
    assert abs(twice.std() / once.std() - 1) < 0.05
    others = (
        recipe('[[pairs]]\nfirst = ["fog", "snow"]\nsecond = ["fog", "snow"]\nseverities = [1]\nsame = false\n')
        .resolve()
        .sets
    )
    assert others[0].id == "fog-1+snow-1"


def test_chains_clean_and_aliases():
    own = recipe(
        """
[[sets]]
clean = true
aliases = ["original"]
[[sets]]
chain = ["fog-3", "gaussian_noise-5"]
aliases = ["type 8"]
[[sets]]
chain = ["fog-3+frost-1", {corruption = "gaussian_noise", parameters = {sigma = 0.1}}]
id = "fo3-fr1-ga010"
[[sets]]
chain = [{corruption = "saturate", severity = 2}]
"""
    )
    specs = own.resolve().sets
    assert [(s.id, s.role, s.aliases) for s in specs] == [
        ("clean", "test", ("original",)),
        ("fog-3+gaussian_noise-5", "test", ("type 8",)),
        ("fo3-fr1-ga010", "test", ()),
        ("saturate/2", "validation", ()),
    ]
    assert [[stage.name for stage in s.stages] for s in specs] == [
        [],
        ["fog-3", "gaussian_noise-5"],
        ["fog-3", "frost-1", "gaussian_noise"],
        ["saturate-2"],
    ]
    assert specs[2].stages[2].parameters == {"sigma": 0.1}


def test_what_trains_is_no_test():
    own = recipe(
        '[[sets]]\ncorruptions = ["fisheye"]\nseverities = [2]\n[[sets]]\nchain = ["fog-3", "uniform_noise-1"]\n'
        '[[sets]]\nchain = ["saturate-3", "fisheye-2"]\n[[pairs]]\nfirst = ["snow-1"]\nsecond = ["fisheye-1"]\norders '
        '= "given"\n'
    )
    assert {s.role for s in own.resolve().sets} == {"train"}
    said = mistakes(
        HEAD
        + '[[sets]]\ncorruptions = ["uniform_noise", "fisheye", "fog"]\nrole = "test"\n'
        + '[[pairs]]\nfirst = ["fog-1"]\nsecond = ["fisheye-2"]\nrole = "validation"\n'
    )
    assert [line.strip() for line in said] == [
        "[[sets]] 1: role is 'test', and uniform_noise is a corruption to train with; expected role 'train', or none",
        "[[sets]] 1: role is 'test', and fisheye is a corruption to train with; expected role 'train', or none",
        "[[pairs]] 1: role is 'validation', and fisheye is a corruption to train with; expected role 'train', or none",
    ]


def test_one_chain_under_two_names_is_one_set():
    own = recipe(
        '[[sets]]\ncorruptions = ["fog"]\nseverities = [3, 4]\n[[sets]]\nchain = ["fog-3"]\nid = "foggy"\naliases = '
        '["mist"]\n'
    )
    assert [(s.id, s.aliases) for s in own.resolve().sets] == [("fog/3", ("foggy", "mist")), ("fog/4", ())]
    (line,) = mistakes(
        HEAD + '[[sets]]\nchain=["fog-3"]\n[[sets]]\nchain = ["fog-3"]\nid = "foggy"\nrole = "validation"\n'
    )
    assert "two roles" in line


@pytest.mark.parametrize(
    ("sets", "said"),
    [
        ('[[sets]]\ncorruptions = ["fog", "fog"]\nseverities = [1]\n', "'fog/1' is given twice"),
        (
            '[[sets]]\nchain = ["fog-1"]\naliases = ["a"]\n[[sets]]\nchain = ["fog-2"]\naliases = ["a"]\n',
            "'a' is given twice",
        ),
        ('[[sets]]\nchain = ["fog-1"]\nid = "fog/2"\n', "that of another chain"),
        ('[[sets]]\nchain = ["fog-1"]\nid = "clean"\n', "that of another chain"),
        (
            '[[sets]]\nchain = ["fog-1"]\nid = "a"\n[[sets]]\nchain = ["fog-2"]\nid = "a/b"\n',
            "'a' is a folder of the set 'a/b'",
        ),
        ('[[sets]]\nchain = ["fog-1"]\nid = "A"\n', "id is 'A'; expected a set id such as fog/3"),
        ('[[sets]]\nchain = ["fog-1"]\nid = "../up"\n', "id is '../up'"),
        ('[[sets]]\nchain = ["fog-1"]\nseverities = [1]\n', "severities and levels go with corruptions"),
        ('[[sets]]\ncorruptions = ["fog"]\nid = "x"\n', "id goes with chain"),
        ('[[sets]]\ncorruptions = ["fog"]\naliases = ["x"]\n', "aliases go with chain"),
        ("[[sets]]\ncorruptions = []\n", "corruptions is []; expected something in it"),
        ("[[sets]]\nclean = false\n", "clean is False; expected True"),
        (
            '[[sets]]\ncorruptions = ["fade_black"]\n',
            "fade_black has levels in place of severities; give them, as in levels = 30",
        ),
        ('[[sets]]\ncorruptions = ["fog"]\nlevels = 3\n', "fog has severities in place of levels"),
        (
            '[[sets]]\ncorruptions = ["fade_black"]\nlevels = [100]\n',
            "levels, item 1 is 100; expected a number up to 99",
        ),
        (
            '[[sets]]\ncorruptions = ["fade_black"]\nlevels = 0\n',
            "levels: is 0; expected a number of levels from 1 to 99",
        ),
        ('[[sets]]\ncorruptions = ["fade_black"]\nlevels = 3\nseverities = [1]\n', "has severities and levels"),
        ('[[sets]]\nchain = [{corruption = "fade_black", level = 0}]\n', "level is 0; expected a whole number from 1"),
        ('[[pairs]]\nfirst = ["fgo"]\nsecond = ["fog"]\n', "[[pairs]] 1, first: 'fgo'"),
        ('[[pairs]]\nfirst = ["fog-9"]\nsecond = ["fog"]\n', "severity is 9; expected a whole number from 1 to 5"),
        ('[[pairs]]\nfirst = ["fog-1+fog-2"]\nsecond = ["fog"]\n', "'fog-1+fog-2' is not one stage"),
        (
            '[[pairs]]\nfirst = ["fog"]\nsecond = ["snow"]\norders = "bth"\n',
            "orders is 'bth'; expected one of 'both' or 'given'",
        ),
        (NAMED + '[[pairs]]\nfirst = ["gn01"]\nsecond = ["fog"]\n', "Did you mean 'gn010'"),
        (
            '[stages.fog]\ncorruption = "fog"\n[[sets]]\nclean = true\n',
            "[stages] fog: is also the name of a corruption",
        ),
        ('[stages.fog-3]\ncorruption = "fog"\nseverity = 2\n[[sets]]\nclean = true\n', "is that of another chain"),
        (
            '[stages.a]\ncorruption = "fgo"\n[[sets]]\nclean = true\n',
            "[stages] a, corruption: there is no corruption 'fgo'",
        ),
        (
            '[stages.a]\ncorruption = "fog"\nseverity = 7\n[[sets]]\nclean = true\n',
            "[stages] a, severity: is 7; expected a severity from 1 to 5",
        ),
        ("[[sets]]\n", "expected exactly one of corruptions, chain, clean"),
        ('[[sets]]\nchain = [{corruption = "fog", parameters = {thick = 1}}]\nid = "x"\n', "unknown parameter 'thick'"),
        ('[[sets]]\nchain = ["fogg-1"]\n', "Did you mean 'fog'"),
        (
            f'[[sets]]\nid = "long"\nchain = {["contrast-1"] * 500}\n',
            "[[sets]] 1: The chain has 500 stages; expected at most 16.",
        ),
        (
            f'[[sets]]\nchain = ["{"+".join(["contrast-1"] * 17)}"]\n',
            "[[sets]] 1: The chain has 17 stages; expected at most 16.",
        ),
        ("", "the recipe has neither [[sets]] nor [[pairs]]"),
    ],
)
def test_mistakes_in_sets(sets, said):
    (line,) = mistakes(HEAD + sets)
    assert said in line


def test_aliases_that_name_each_other_are_names_given_twice():
    sets = '[[sets]]\nchain = ["fog-3"]\naliases = ["snow/3"]\n[[sets]]\nchain = ["snow-3"]\naliases = ["fog/3"]\n'
    assert [line.split(";")[0].strip() for line in mistakes(HEAD + sets)] == [
        "the set name 'snow/3' is given twice",
        "the set name 'fog/3' is given twice",
    ]


def test_the_longest_chain_is_taken():
    (spec,) = recipe(f'[[sets]]\nid = "long"\nchain = {["contrast-1"] * 16}\n').resolve().sets
    assert len(spec.stages) == 16
