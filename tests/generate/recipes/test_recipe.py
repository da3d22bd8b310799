"""Recipes: the shipped ones name the published sets, a user's own works the same, and every mistake is said at once."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import numpy as np
import pytest

import corruptset
from corruptset.corruptions.stages import chain_keys
from corruptset.errors import RecipeError
from corruptset.generate.pixels.encoding import JpegEncoding
from corruptset.generate.pixels.preprocessing import CentralResize, Resize, ResizeCrop
from corruptset.generate.recipes.recipe import Published, Recipe, load_recipe, parse_recipe, recipe_aliases, recipe_names
from corruptset.generate.recipes.sets import resolve_sets

FIFTEEN = """gaussian_noise shot_noise impulse_noise defocus_blur glass_blur motion_blur zoom_blur snow frost fog brightness
contrast elastic_transform pixelate jpeg_compression""".split()
EXTRA = ["speckle_noise", "gaussian_blur", "spatter", "saturate"]
HEAD = """
name = "mine"
version = "0.1"
calibration = "imagenet"
[preprocessing]
kind = "none"
[encoding]
format = "png"
"""


def ids(corruptions):
    return [f"{c}/{s}" for c in corruptions for s in range(1, 6)]


def recipe(sets, head=HEAD):
    return parse_recipe(head + sets, "The recipe")


def mistakes(text):
    with pytest.raises(RecipeError) as error:
        parse_recipe(text, "The recipe")
    first, *lines = str(error.value).split("\n")
    assert first == f"The recipe has {len(lines)} mistake{'s' * (len(lines) > 1)}:"
    return lines


@pytest.mark.parametrize(
    ("name", "expected", "calibration", "preprocessing"),
    [
        ("imagenet-c", ids(FIFTEEN), "imagenet", ResizeCrop(kind="resize-crop", resize=256, crop=224)),
        ("imagenet-c-extra", ids(EXTRA), "imagenet", ResizeCrop(kind="resize-crop", resize=256, crop=224)),
        ("imagenet-c-all", ids(FIFTEEN + EXTRA), "imagenet", ResizeCrop(kind="resize-crop", resize=256, crop=224)),
        ("imagenet-c-299", ids(FIFTEEN), "inception", CentralResize(kind="central-resize", fraction=0.875, side=299)),
        ("tiny-imagenet-c", ids(FIFTEEN), "tiny", Resize(kind="resize", side=64)),
        (
            "flageval-noise",
            ids(["gaussian_noise", "impulse_noise", "shot_noise"]),
            "imagenet",
            ResizeCrop(kind="resize-crop", resize=256, crop=224),
        ),
    ],
)
def test_shipped(name, expected, calibration, preprocessing):
    found = load_recipe(name)
    specs = found.resolve().sets
    assert [s.id for s in specs] == expected
    assert {s.role for s in specs if s.stages[0].corruption in EXTRA} <= {"validation"}
    assert {s.role for s in specs if s.stages[0].corruption in FIFTEEN} <= {"test"}
    assert (found.name, found.calibration, found.scale) == (name, calibration, "none")
    assert found.preprocessing == preprocessing
    assert found.encoding == JpegEncoding(quality=85, optimize=False, subsampling="4:2:0")
    table = found.table()
    for spec in specs:
        (stage,) = spec.stages
        assert dict(stage.parameters) == dict(table.row(stage.corruption, stage.severity).parameters)
    assert found.title
    assert found.description


def test_mnist_c():
    """Mu and Gilmer 2019: fifteen corruptions at one severity each, and the clean images as "identity", in the published order."""
    published = """identity/ shot_noise/5 impulse_noise/4 glass_blur/1 motion_blur/1 shear/2 scale/3 rotate/2 brightness/5 translate/3
    stripe/1 fog/5 spatter/4 dotted_line/1 zigzag/1 canny_edges/1""".split()
    found = load_recipe("mnist-c")
    specs = found.resolve().sets
    assert [s.aliases for s in specs] == [(p.split("/")[0],) for p in published]
    assert [s.id for s in specs] == ["clean", *published[1:]]
    assert {s.role for s in specs} == {"test"}
    assert found.calibration == "mnist"
    assert found.preprocessing.as_json() == {"kind": "none", "channels": "keep"}
    assert found.encoding.format == "png"
    table = found.table()
    for spec in specs[1:]:
        (stage,) = spec.stages
        assert dict(stage.parameters) == dict(table.row(stage.corruption, stage.severity).parameters)


NAMED = """
[stages.gn010]
corruption = "gaussian_noise"
parameters = {sigma = 0.1}
[stages.dark]
corruption = "fade_black"
level = 4
"""


def test_levels():
    specs = recipe('[[sets]]\ncorruptions = ["fade_black"]\nlevels = 3\n[[sets]]\nchain = ["fade_black-30", "fog-2"]\n').resolve().sets
    assert [s.id for s in specs] == ["fade_black/01", "fade_black/02", "fade_black/03", "fade_black-30+fog-2"]
    assert [(t.level, t.severity) for t in specs[3].stages] == [(30, None), (None, 2)]
    some = recipe('[[sets]]\ncorruptions = ["fade_black"]\nlevels = [5, 10]\n')
    assert [s.id for s in some.resolve().sets] == ["fade_black/05", "fade_black/10"]


def test_a_ladder_is_the_recipes_and_stands_in_its_record_where_it_is_not_the_default():
    text = 'ladder = "text"\n' + HEAD + '[[sets]]\ncorruptions = ["fade_black"]\nlevels = 1\n'
    found = parse_recipe(text, "The recipe")
    assert found.table().ladder == found.resolve().record["ladder"] == "text"
    assert not {"ladder", "stages", "pairs"} & load_recipe("imagenet-c").resolve().record.keys()


def test_stages_of_ones_own_name_their_sets():
    sets = '[[sets]]\nchain = ["gn010"]\n[[sets]]\nchain = ["dark", "gn010"]\naliases = ["D G"]\n[[sets]]\nchain = ["fog-1", "gn010"]\n'
    specs = recipe(NAMED + sets).resolve().sets
    assert [s.id for s in specs] == ["gn010", "dark+gn010", "fog-1+gn010"]
    assert specs[1].aliases == ("D G",)
    assert dict(specs[0].stages[0].parameters) == {"sigma": 0.1}
    assert specs[1].stages[0].level == 4


def test_pairs_in_both_orders_and_in_the_given_one():
    both = recipe('[[pairs]]\nfirst = ["fog"]\nsecond = ["snow", "contrast-5"]\nseverities = [1, 2]\nsecond_severities = [3]\n')
    ids = [s.id for s in both.resolve().sets]
    there = ["fog-1+snow-3", "fog-1+contrast-5", "fog-2+snow-3", "fog-2+contrast-5"]
    assert ids == [*there, "snow-3+fog-1", "snow-3+fog-2", "contrast-5+fog-1", "contrast-5+fog-2"]
    given = recipe('[[pairs]]\nfirst = ["fog"]\nsecond = ["contrast-5"]\nseverities = [1, 2]\norders = "given"\n')
    assert [s.id for s in given.resolve().sets] == ["fog-1+contrast-5", "fog-2+contrast-5"]
    own = recipe(NAMED + '[[pairs]]\nfirst = ["gn010"]\nsecond = ["fade_black"]\nlevels = [2]\nrole = "train"\n')
    assert [(s.id, s.role) for s in own.resolve().sets] == [("gn010+fade_black-02", "train"), ("fade_black-02+gn010", "train")]


def test_a_corruption_paired_with_itself_draws_twice():
    specs = recipe('[[pairs]]\nfirst = ["gaussian_noise"]\nsecond = ["gaussian_noise"]\nseverities = [2]\n').resolve().sets
    assert [s.id for s in specs] == ["gaussian_noise-2+gaussian_noise-2"]
    one, two = chain_keys(specs[0].stages, 0)
    assert one != two
    flat = np.full((64, 64, 3), 128, np.uint8)
    once = corruptset.corrupt(flat, "gaussian_noise", severity=2).astype(float)
    twice = corruptset.corrupt(flat, specs[0].id) - once
    assert abs(np.corrcoef(once.ravel(), twice.ravel())[0, 1]) < 0.04
    assert abs(twice.std() / once.std() - 1) < 0.05
    others = recipe('[[pairs]]\nfirst = ["fog", "snow"]\nsecond = ["fog", "snow"]\nseverities = [1]\nsame = false\n').resolve().sets
    assert others[0].id == "fog-1+snow-1"


def test_names():
    assert recipe_names() == (
        "cifar10-c",
        "cifar100-c",
        "flageval-noise",
        "image-degrade-30",
        "image-degrade-30-text",
        "imagenet-c",
        "imagenet-c-299",
        "imagenet-c-all",
        "imagenet-c-extra",
        "mnist-c",
        "tiny-imagenet-c",
        "two-factor-69",
        "two-factor-imagenet-c",
        "two-factor-train",
    )
    assert load_recipe("imagenet-d") is load_recipe("imagenet-c")
    names = [*recipe_names(), *recipe_aliases()]
    assert len(set(names)) == len(names)
    with pytest.raises(RecipeError, match=r"no recipe 'imagenet_c'\. Did you mean 'imagenet-c'\? Known: .*tiny-imagenet-c"):
        load_recipe("imagenet_c")


def test_a_users_own_recipe_and_table(tmp_path):
    (tmp_path / "mine.toml").write_text(
        'name = "gentle"\nside = 224\n[sources]\nus = "chosen by eye"\n'
        '[[fog]]\nseverity = 1\nweight = 0.4\nwibble_decay = 3\nsource = "us"\n'
    )
    text = HEAD.replace('"imagenet"', '"mine.toml"') + '[[sets]]\ncorruptions = ["fog"]\nseverities = [1]\n'
    (tmp_path / "own.toml").write_text(text)
    for given in (tmp_path / "own.toml", str(tmp_path / "own.toml")):
        own = load_recipe(given)
        (spec,) = own.resolve().sets
        assert (spec.id, spec.role, spec.aliases) == ("fog/1", "test", ())
        assert spec.stages[0].parameters == {"weight": 0.4, "wibble_decay": 3.0}
    # a manifest never carries a path
    assert own.resolve().record["calibration"] == "gentle"
    assert str(tmp_path) not in json.dumps(own.resolve().record)
    (other,) = own.resolve("imagenet").sets
    assert other.stages[0].parameters != spec.stages[0].parameters
    assert load_recipe(own) is own


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


def test_one_chain_under_two_names_is_one_set():
    own = recipe('[[sets]]\ncorruptions = ["fog"]\nseverities = [3, 4]\n[[sets]]\nchain = ["fog-3"]\nid = "foggy"\naliases = ["mist"]\n')
    assert [(s.id, s.aliases) for s in own.resolve().sets] == [("fog/3", ("foggy", "mist")), ("fog/4", ())]
    (line,) = mistakes(HEAD + '[[sets]]\nchain=["fog-3"]\n[[sets]]\nchain = ["fog-3"]\nid = "foggy"\nrole = "validation"\n')
    assert "two roles" in line


def test_every_mistake_at_once():
    lines = mistakes(
        """
name = "My Set"
version = 1
calibratoin = "imagenet"
calibration = "imagenet"
scale = "sides"
[preprocessing]
kind = "resize-crop"
resize = 256.5
interpolation = "cubic"
[encoding]
format = "jpg"
[[sets]]
corruptions = ["gausian_noise", "fog"]
severities = [0, 6, 2.0]
[[sets]]
chain = [{corruption = "gaussian_noise", severty = 1}, 3]
[[sets]]
chain = [{corruption = "gaussian_noise", parameters = {sigma = 0.1}}]
[[sets]]
chain = ["fog-3"]
clean = true
[[sets]]
chain = ["fog-9", {corruption = "gaussian_noise", parameters = {sigma = -1.0}}]
id = "x"
"""
    )
    expected = [
        "name is 'My Set'; expected text that matches",
        "version is 1; expected text in quotes",
        "calibratoin: there is no such key. Did you mean 'calibration'?",
        "scale is 'sides'; expected one of 'none' or 'side'",
        "preprocessing, resize is 256.5; expected a whole number",
        "preprocessing, crop is missing",
        "preprocessing, interpolation is 'cubic'; expected one of 'nearest'",
        "encoding, format is 'jpg'; expected one of 'jpeg', 'png'",
        "[[sets]] 1, corruptions, item 1: there is no corruption 'gausian_noise'. Did you mean 'gaussian_noise'?",
        "[[sets]] 1, severities, item 1 is 0; expected a number from 1",
        "[[sets]] 1, severities, item 2 is 6; expected a number up to 5",
        "[[sets]] 1, severities, item 3 is 2.0; expected a whole number",
        "[[sets]] 2, chain, item 1, severty: there is no such key. Did you mean 'severity'?",
        "[[sets]] 2, chain, item 2 is 3; expected a table",
        "[[sets]] 3: a stage with given parameters has no id of its own",
        "[[sets]] 4: has chain and clean; expected exactly one of",
        "[[sets]] 5: fog: severity is 9; expected a whole number from 1 to 5",
        "[[sets]] 5: gaussian_noise: parameter 'sigma' is -1.0; expected",
    ]
    for part in expected:
        assert sum(part in line for line in lines) == 1, (part, lines)
    assert len(lines) == len(expected)


@pytest.mark.parametrize(
    ("sets", "said"),
    [
        ('[[sets]]\ncorruptions = ["fog", "fog"]\nseverities = [1]\n', "'fog/1' is given twice"),
        ('[[sets]]\nchain = ["fog-1"]\naliases = ["a"]\n[[sets]]\nchain = ["fog-2"]\naliases = ["a"]\n', "'a' is given twice"),
        ('[[sets]]\nchain = ["fog-1"]\nid = "fog/2"\n', "that of another chain"),
        ('[[sets]]\nchain = ["fog-1"]\nid = "clean"\n', "that of another chain"),
        ('[[sets]]\nchain = ["fog-1"]\nid = "a"\n[[sets]]\nchain = ["fog-2"]\nid = "a/b"\n', "'a' is a folder of the set 'a/b'"),
        ('[[sets]]\nchain = ["fog-1"]\nid = "A"\n', "id is 'A'; expected text that matches"),
        ('[[sets]]\nchain = ["fog-1"]\nid = "../up"\n', "id is '../up'"),
        ('[[sets]]\nchain = ["fog-1"]\nseverities = [1]\n', "severities and levels go with corruptions"),
        ('[[sets]]\ncorruptions = ["fog"]\nid = "x"\n', "id goes with chain"),
        ('[[sets]]\ncorruptions = ["fog"]\naliases = ["x"]\n', "aliases go with chain"),
        ("[[sets]]\ncorruptions = []\n", "corruptions is []; expected something in it"),
        ("[[sets]]\nclean = false\n", "clean is False; expected True"),
        ('[[sets]]\ncorruptions = ["fade_black"]\n', "fade_black has levels in place of severities; give them, as in levels = 30"),
        ('[[sets]]\ncorruptions = ["fog"]\nlevels = 3\n', "fog has severities in place of levels"),
        ('[[sets]]\ncorruptions = ["fade_black"]\nlevels = [100]\n', "levels, item 1 is 100; expected a number up to 99"),
        (
            '[[sets]]\ncorruptions = ["fade_black"]\nlevels = 0\n',
            "levels: is 0; expected a number of levels from 1 to 99",
        ),
        ('[[sets]]\ncorruptions = ["fade_black"]\nlevels = 3\nseverities = [1]\n', "has severities and levels"),
        ('[[sets]]\nchain = ["fade_black-00"]\n', "level is 0; expected a whole number from 1"),
        ('[[pairs]]\nfirst = ["fgo"]\nsecond = ["fog"]\n', "[[pairs]] 1, first: 'fgo'"),
        ('[[pairs]]\nfirst = ["fog-9"]\nsecond = ["fog"]\n', "severity is 9; expected a whole number from 1 to 5"),
        ('[[pairs]]\nfirst = ["fog-1+fog-2"]\nsecond = ["fog"]\n', "'fog-1+fog-2' is not one stage"),
        ('[[pairs]]\nfirst = ["fog"]\nsecond = ["snow"]\norders = "bth"\n', "orders is 'bth'; expected one of 'both' or 'given'"),
        (NAMED + '[[pairs]]\nfirst = ["gn01"]\nsecond = ["fog"]\n', "Did you mean 'gn010'"),
        ('[stages.fog]\ncorruption = "fog"\n[[sets]]\nclean = true\n', "[stages] fog: is also the name of a corruption"),
        ('[stages.fog-3]\ncorruption = "fog"\nseverity = 2\n[[sets]]\nclean = true\n', "is that of another chain"),
        ('[stages.a]\ncorruption = "fgo"\n[[sets]]\nclean = true\n', "[stages] a, corruption: there is no corruption 'fgo'"),
        ('[stages.a]\ncorruption = "fog"\nseverity = 7\n[[sets]]\nclean = true\n', "[stages] a, severity is 7"),
        ("[[sets]]\n", "expected exactly one of corruptions, chain, clean"),
        ('[[sets]]\nchain = [{corruption = "fog", parameters = {thick = 1}}]\nid = "x"\n', "unknown parameter 'thick'"),
        ('[[sets]]\nchain = ["fogg-1"]\n', "Did you mean 'fog'"),
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


def test_mistakes_of_files(tmp_path):
    for path, text, said in (
        ("none.toml", None, "cannot be read"),
        ("bad.toml", "name = ", "is not TOML"),
        (
            "cal.toml",
            HEAD.replace('"imagenet"', '"imagnet"') + "[[sets]]\nclean = true\n",
            "no calibration 'imagnet'. Did you mean 'imagenet'",
        ),
        ("tab.toml", HEAD.replace('"imagenet"', '"absent.toml"') + "[[sets]]\nclean = true\n", "absent.toml cannot be read"),
    ):
        if text is not None:
            (tmp_path / path).write_text(text)
        with pytest.raises(RecipeError, match=re.escape(said)) as error:
            load_recipe(tmp_path / path)
        assert str(tmp_path / path) in str(error.value)


def test_a_recipe_stands_in_a_manifest_in_full():
    resolved = load_recipe("imagenet-c").resolve()
    shipped = resolved.record
    assert json.loads(json.dumps(shipped)) == shipped
    assert shipped["sets"] == [s.as_json() for s in resolved.sets]
    assert (shipped["calibration"], shipped["calibration_side"]) == ("imagenet", 224)
    assert shipped["preprocessing"] == {"kind": "resize-crop", "channels": "rgb", "resize": 256, "crop": 224, "interpolation": "bilinear"}


def test_a_recipe_is_resolved_once(monkeypatch):
    count = 0

    def counted(*args, **options):
        nonlocal count
        count += 1
        return resolve_sets(*args, **options)

    monkeypatch.setattr("corruptset.generate.recipes.recipe.resolve_sets", counted)
    own = recipe('[[sets]]\nchain = ["fog-3"]\n')
    assert own.resolve() == own.resolve()
    assert count == 1
    assert own.resolve("tiny").table.name == "tiny"
    assert count == 2


def test_the_documented_recipes_work(tmp_path):
    """Every TOML block of docs/recipes.md is read as it stands there."""
    text = (Path(__file__).parents[3] / "docs" / "recipes.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```toml\n(.*?)```", text, flags=re.DOTALL)
    assert len(blocks) == 3
    shipped, table, own = blocks
    assert parse_recipe(shipped, "the documented recipe") == load_recipe("imagenet-c")
    (tmp_path / "gentle.toml").write_text(table, encoding="utf-8")
    (tmp_path / "own.toml").write_text(own, encoding="utf-8")
    assert tomllib.loads(own)["calibration"] == "gentle.toml"
    assert [s.id for s in load_recipe(tmp_path / "own.toml").resolve().sets] == [
        "clean", "fog/1", "fog/2", "gaussian_noise/1", "gaussian_noise/2", "fog-2+gaussian_noise-1", "fo1-ga015",
    ]  # fmt: skip
    for name in recipe_names():
        assert f"`{name}`" in text
    for model in Recipe.model_fields, Published.model_fields, JpegEncoding.model_fields, ResizeCrop.model_fields:
        for key in model:
            assert f"`{key}`" in text, key


@pytest.mark.parametrize(
    ("expects", "said"),
    [
        ("sizes = [[32, 32]]\nleast_side = 32", "expects: has sizes and least_side; give one of them"),
        ("sizes = [[32, 4]]", "expects, sizes, item 1, item 2 is 4; expected a number from 8 upwards"),
        ('channels = "gray"', "expects, channels is 'gray'; expected one of 'rgb' or 'grey'"),
        ("side = 32", "expects, side: there is no such key. Did you mean 'sizes'? Known here: sizes, least_side, channels"),
    ],
)
def test_mistakes_in_what_a_recipe_expects(expects, said):
    assert mistakes(f"{HEAD}[expects]\n{expects}\n[[sets]]\nclean = true\n") == [f"  {said}"]


def test_every_shipped_recipe_says_what_images_it_is_made_for():
    page = (Path(__file__).parents[3] / "docs" / "recipes.md").read_text(encoding="utf-8")
    for name in recipe_names():
        expects = load_recipe(name).expects
        assert expects is not None, name
        assert expects.words in page, name
        assert not {"expects", "published"} & load_recipe(name).resolve().record.keys()
