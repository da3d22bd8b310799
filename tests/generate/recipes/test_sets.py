"""The sets of the entries of a recipe: levels, named stages, chains, pairs, and messages about mistakes."""

from __future__ import annotations

import numpy as np
import pytest
from custom_recipes import HEAD, NAMED_STAGES, parse_sets, recipe_errors

import corruptset
from corruptset.corruptions.stages import chain_keys
from corruptset.errors import RecipeError


def resolved_sets(*entries, custom=""):
    """Return the sets of a recipe. An entry that begins with ``first`` is an entry of pairs."""
    tables = (f"[[{'pairs' if entry.startswith('first') else 'sets'}]]\n{entry}\n" for entry in entries)
    return parse_sets(custom + "".join(tables)).resolve().sets


def ids(*entries, own=""):
    return [s.id for s in resolved_sets(*entries, custom=own)]


def test_custom_levels_and_stages_are_accepted():
    specs = resolved_sets('corruptions = ["fade_black"]\nlevels = 3', 'chain = ["fade_black-30", "fog-2"]')
    assert [s.id for s in specs] == ["fade_black/01", "fade_black/02", "fade_black/03", "fade_black-30+fog-2"]
    assert [(t.level, t.severity) for t in specs[3].stages] == [(30, None), (None, 2)]
    assert ids('corruptions = ["fade_black"]\nlevels = [5, 10]') == ["fade_black/05", "fade_black/10"]
    chains = ('chain = ["gn010"]', 'chain = ["dark", "gn010"]\naliases = ["D G"]', 'chain = ["fog-1", "gn010"]')
    specs = resolved_sets(*chains, custom=NAMED_STAGES)
    assert [s.id for s in specs] == ["gn010", "dark+gn010", "fog-1+gn010"]
    assert specs[1].aliases == ("D G",)
    assert dict(specs[0].stages[0].parameters) == {"sigma": 0.1}
    assert specs[1].stages[0].level == 4
    (spec,) = resolved_sets(f'id = "long"\nchain = {["contrast-1"] * 16}')
    assert len(spec.stages) == 16


def test_pairs_can_have_both_orders_or_given_order():
    both = 'first = ["fog"]\nsecond = ["snow", "contrast-5"]\nseverities = [1, 2]\nsecond_severities = [3]'
    expected_ids = ["fog-1+snow-3", "fog-1+contrast-5", "fog-2+snow-3", "fog-2+contrast-5"]
    assert ids(both) == [*expected_ids, "snow-3+fog-1", "snow-3+fog-2", "contrast-5+fog-1", "contrast-5+fog-2"]
    given_order = 'first = ["fog"]\nsecond = ["contrast-5"]\nseverities = [1, 2]\norders = "given"'
    assert ids(given_order) == ["fog-1+contrast-5", "fog-2+contrast-5"]
    levels = 'first = ["black_lines"]\nsecond = ["fade_black"]\nlevels = [1]\nsecond_levels = [2]\norders = "given"'
    assert ids(levels) == ["black_lines-01+fade_black-02"]
    custom = resolved_sets(
        'first = ["gn010"]\nsecond = ["fade_black"]\nlevels = [2]\nrole = "train"', custom=NAMED_STAGES
    )
    assert {(s.id, s.role) for s in custom} == {("gn010+fade_black-02", "train"), ("fade_black-02+gn010", "train")}
    assert ids('first = ["fog", "snow"]\nsecond = ["fog", "snow"]\nseverities = [1]\nsame = false')[0] == "fog-1+snow-1"


def test_severity_0_and_level_0_are_clean_images():
    """Severity 0 means the clean image, as in ``corrupt(image, "fog", severity=0)``."""
    clean = ('corruptions = ["fog", "snow"]\nseverities = [0, 2]', 'corruptions = ["fade_black"]\nlevels = [0, 1]')
    assert ids(*clean) == ["clean", "fog/2", "snow/2", "fade_black/01"]
    specs = resolved_sets('first = ["fog"]\nsecond = ["snow"]\nseverities = [0, 2]')
    assert {s.id: s.aliases for s in specs} == {
        "clean": ("fog-0+snow-0", "snow-0+fog-0"),
        "snow/2": ("fog-0+snow-2", "snow-2+fog-0"),
        "fog/2": ("fog-2+snow-0", "snow-0+fog-2"),
        "fog-2+snow-2": (),
        "snow-2+fog-2": (),
    }
    named = resolved_sets(
        'first = ["gn010"]\nsecond = ["fog"]\nseverities = [0, 1]\norders = "given"', custom=NAMED_STAGES
    )
    assert [(s.id, s.aliases) for s in named] == [("gn010", ("gn010+fog-0",)), ("gn010+fog-1", ())]


def test_corruption_paired_with_itself_draws_twice():
    (spec,) = resolved_sets('first = ["gaussian_noise"]\nsecond = ["gaussian_noise"]\nseverities = [2]')
    assert spec.id == "gaussian_noise-2+gaussian_noise-2"
    one, two = chain_keys(spec.stages, 0)
    assert one != two
    flat = np.full((64, 64, 3), 128, np.uint8)
    once = corruptset.corrupt(flat, "gaussian_noise", severity=2).astype(float)
    twice = corruptset.corrupt(flat, spec.id) - once
    assert abs(np.corrcoef(once.ravel(), twice.ravel())[0, 1]) < 0.04
    assert abs(twice.std() / once.std() - 1) < 0.05


def test_chains_have_aliases_and_roles():
    parameters = '{corruption = "gaussian_noise", parameters = {sigma = 0.1}}'
    specs = resolved_sets(
        'clean = true\naliases = ["original"]',
        'chain = ["fog-3", "gaussian_noise-5"]\naliases = ["type 8"]',
        f'chain = ["fog-3+frost-1", {parameters}]\nid = "fo3-fr1-ga010"',
        'chain = [{corruption = "saturate", severity = 2}]',
    )
    assert [(s.id, s.role, s.aliases, [stage.name for stage in s.stages]) for s in specs] == [
        ("clean", "test", ("original",), []),
        ("fog-3+gaussian_noise-5", "test", ("type 8",), ["fog-3", "gaussian_noise-5"]),
        ("fo3-fr1-ga010", "test", (), ["fog-3", "frost-1", "gaussian_noise"]),
        ("saturate/2", "validation", (), ["saturate-2"]),
    ]
    assert specs[2].stages[2].parameters == {"sigma": 0.1}
    # sets with a training corruption are not test sets
    trains = ('corruptions = ["fisheye"]\nseverities = [2]', 'chain = ["fog-3", "uniform_noise-1"]')
    trains += ('chain = ["saturate-3", "fisheye-2"]', 'first = ["snow-1"]\nsecond = ["fisheye-1"]\norders = "given"')
    assert {s.role for s in resolved_sets(*trains)} == {"train"}
    # the same chain under two names is one set
    twice = resolved_sets(
        'corruptions = ["fog"]\nseverities = [3, 4]', 'chain = ["fog-3"]\nid = "foggy"\naliases = ["mist"]'
    )
    assert [(s.id, s.aliases) for s in twice] == [("fog/3", ("foggy", "mist")), ("fog/4", ())]


def test_set_errors_are_reported():
    sets, pairs, clean = "[[sets]]\n", "[[pairs]]\n", "[[sets]]\nclean = true\n"
    for text, *messages in (
        (
            f'{sets}corruptions = ["uniform_noise", "fisheye", "fog"]\nrole = "test"\n'
            f'{pairs}first = ["fog-1"]\nsecond = ["fisheye-2"]\nrole = "validation"\n',
            "[[sets]] 1: role is 'test', but uniform_noise is a corruption for training; expected role 'train', or",
            "[[sets]] 1: role is 'test', but fisheye is a corruption for training; expected role 'train', or no role",
            "[[pairs]] 1: role is 'validation', but fisheye is a corruption for training; expected role 'train'",
        ),
        (
            f'{sets}chain=["fog-3"]\n{sets}chain = ["fog-3"]\nid = "foggy"\nrole = "validation"\n',
            "different roles, test and validation",
        ),
        (
            f'{sets}chain = ["fog-3"]\naliases = ["snow/3"]\n{sets}chain = ["snow-3"]\naliases = ["fog/3"]\n',
            "the set name 'snow/3' is given twice",
            "the set name 'fog/3' is given twice",
        ),
        (f'{sets}corruptions = ["fog", "fog"]\nseverities = [1]\n', "'fog/1' is given twice"),
        (f'{sets}corruptions = ["dotted_line"]\n', "dotted_line has no rows in calibration 'imagenet'"),
        (f'{sets}chain = ["fog-1"]\nid = "fog/2"\n', "means another chain"),
        (f'{sets}chain = ["fog-1"]\nid = "clean"\n', "means another chain"),
        (f'{sets}chain = ["fog-1"]\nid = "a"\n{sets}chain = ["fog-2"]\nid = "a/b"\n', "'a' is a folder of the set"),
        (f'{sets}chain = ["fog-1"]\nid = "A"\n', "id: String should match pattern"),
        (f'{sets}chain = ["fog-1"]\nid = "../up"\n', "(given: '../up')"),
        (f'{sets}chain = ["fog-1"]\nseverities = [1]\n', "severities and levels need corruptions"),
        (f'{sets}corruptions = ["fog"]\nid = "x"\n', "id needs a chain"),
        (f'{sets}corruptions = ["fog"]\naliases = ["x"]\n', "aliases need a chain"),
        (f"{sets}corruptions = []\n", "corruptions: Tuple should have at least 1 item"),
        (f"{sets}clean = false\n", "clean: Input should be True"),
        (f'{sets}corruptions = ["fade_black"]\n', "fade_black has levels instead of severities; give for example"),
        (f'{sets}corruptions = ["fog"]\nlevels = 3\n', "fog has severities instead of levels"),
        (f'{sets}corruptions = ["fade_black"]\nlevels = [100]\n', "item 1: Input should be less than or equal to 99"),
        (f'{sets}corruptions = ["fade_black"]\nlevels = 0\n', "levels: is 0; expected a number of levels from 1 to 99"),
        (f'{sets}corruptions = ["fade_black"]\nlevels = 3\nseverities = [1]\n', "has severities and levels"),
        (f'{sets}chain = [{{corruption = "fade_black", level = 0}}]\n', "level is 0; expected a whole number from 1"),
        (f'{pairs}first = ["fgo"]\nsecond = ["fog"]\n', "[[pairs]] 1, first: 'fgo'"),
        (f'{pairs}first = ["fog-9"]\nsecond = ["fog"]\n', "severity is 9; expected a number from 0 to 5"),
        (f'{pairs}first = ["fog-1+fog-2"]\nsecond = ["fog"]\n', "'fog-1+fog-2' has several stages"),
        (f'{pairs}first = ["fog"]\nsecond = ["snow"]\norders = "bth"\n', "orders: Input should be 'both' or"),
        (f'{pairs}first = ["fog"]\nsecond = ["fog"]\nsame = false\nseverities = [1]\n', "[[pairs]] gives no sets"),
        (f'{NAMED_STAGES}{pairs}first = ["gn01"]\nsecond = ["fog"]\n', "Did you mean 'gn010'"),
        (f'[stages.fog]\ncorruption = "fog"\n{clean}', "[stages] fog: is also the name of a corruption"),
        (f'[stages.fog-3]\ncorruption = "fog"\nseverity = 2\n{clean}', "means another chain"),
        (f'[stages.a]\ncorruption = "fgo"\n{clean}', "[stages] a, corruption: there is no corruption 'fgo'"),
        (
            f'[stages.a]\ncorruption = "fog"\nseverity = 7\n{sets}chain = ["a", "fogg-1"]\n',
            "[stages] a, severity: is 7; expected a severity from 1 to 5",
            "[[sets]] 1: ",
        ),
        (sets, "expected exactly one of corruptions, chain, clean"),
        (
            f'{sets}chain = [{{corruption = "fog", parameters = {{thick = 1}}}}]\nid = "x"\n',
            "unknown parameter 'thick'",
        ),
        (f'{sets}chain = ["fog-1", "fogg-1"]\n', "Did you mean 'fog'"),
        (f'{sets}id = "long"\nchain = {["contrast-1"] * 500}\n', "1: The chain has 500 stages; expected at most 16."),
        (f'{sets}chain = ["{"+".join(["contrast-1"] * 17)}"]\n', "1: The chain has 17 stages; expected at most 16."),
        ("", "the recipe has neither [[sets]] nor [[pairs]]"),
    ):
        lines = recipe_errors(HEAD + text)
        assert len(lines) == len(messages), lines
        assert all(part in line for part, line in zip(messages, lines, strict=True)), lines


def named_stages(**counts):
    """Return tables of named stages with different parameters, and the list of their names."""
    parameter = {"brightness": "shift", "contrast": "factor"}
    lines, names = ["[stages]"], []
    for corruption, count in counts.items():
        for i in range(count):
            names.append(f"{corruption[0]}{i:04d}")
            value = f"{{{parameter[corruption]} = {(i + 1) / 1000}}}"
            lines.append(f'{names[-1]} = {{corruption = "{corruption}", parameters = {value}}}')
    return "\n".join(lines) + "\n", names


def test_more_than_20000_sets_are_rejected_before_creation():
    own, names = named_stages(brightness=500)
    of_two, both = named_stages(brightness=101, contrast=100)
    severities = [1 + i / 100 for i in range(401)]
    for tables, entry, count in (
        (own, f"[[pairs]]\nfirst = {names}\nsecond = {names}\n", "250,000"),
        (own, f"[[pairs]]\nfirst = {names[:142]}\nsecond = {names[:142]}\n", "20,164"),
        (own, f'[[pairs]]\nfirst = {names[:150]}\nsecond = {names[150:300]}\norders = "given"\n', "22,500"),
        (own, f"[[pairs]]\nfirst = {names[:101]}\nsecond = {names[101:201]}\n[[sets]]\nclean = true\n", "20,201"),
        (of_two, f"[[pairs]]\nfirst = {both}\nsecond = {both}\nsame = false\n", "20,200"),
        ("", f'[[pairs]]\nfirst = ["fog"]\nsecond = ["snow"]\nseverities = {severities}\n', "321,602"),
        ("", f"[[pairs]]\nfirst = {['fog'] * 9000}\nsecond = {['snow'] * 9000}\n", "4,050,000,000"),
        ("", f"[[sets]]\ncorruptions = {['fog'] * 900}\nseverities = {severities}\n", "360,900"),
    ):
        assert recipe_errors(HEAD + tables + entry) == [
            f"  it has {count} sets, but a recipe has at most 20,000. Name fewer corruptions or severities, or divide "
            "the sets among several recipes"
        ]
    items = [f"s{i}=brightness:shift={(i + 1) / 1000}" for i in range(200)]
    with pytest.raises(RecipeError, match="it has 40,000 sets, but a recipe has at most 20,000"):
        corruptset.pairs(items, items)
