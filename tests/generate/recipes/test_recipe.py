"""The shipped recipes contain the published sets, and recipe files of users work in the same way."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest
from custom_recipes import HEAD

from corruptset.errors import RecipeError
from corruptset.generate.pixels.encoding import JpegEncoding, PngEncoding
from corruptset.generate.pixels.preprocessing import ResizeCrop
from corruptset.generate.recipes.file_models import Published, SurrogateEntry
from corruptset.generate.recipes.recipe import Recipe, load_recipe, parse_recipe
from corruptset.generate.recipes.recipe_files import recipe_aliases, recipe_names

FIFTEEN = """gaussian_noise shot_noise impulse_noise defocus_blur glass_blur motion_blur zoom_blur snow frost fog
brightness contrast elastic_transform pixelate jpeg_compression""".split()
DOCS = Path(__file__).parents[3] / "docs"
EXTRA = ["speckle_noise", "gaussian_blur", "spatter", "saturate"]


def ids(corruptions):
    return [f"{c}/{s}" for c in corruptions for s in range(1, 6)]


def has_table_parameters(recipe):
    """Return whether the parameters of every stage are those of its severity in the calibration."""
    table = recipe.table()
    stages = [stage for spec in recipe.resolve().sets for stage in spec.stages]
    return all(dict(s.parameters) == dict(table.row(s.corruption, s.severity).parameters) for s in stages)


def test_shipped_recipes_have_documented_sets():
    crop = {"kind": "resize-crop", "channels": "rgb", "resize": 256, "crop": 224, "interpolation": "bilinear"}
    jpeg = JpegEncoding(quality=85, optimize=False, subsampling="4:2:0")
    noise, every = ["gaussian_noise", "impulse_noise", "shot_noise"], ["clean", *ids(FIFTEEN + EXTRA)]
    central = {"kind": "central-resize", "fraction": 0.875, "side": 299}
    for name, expected, calibration, preprocessing, encoding in (
        ("imagenet-c", ["clean", *ids(FIFTEEN)], "imagenet", crop, jpeg),
        ("imagenet-c-extra", ids(EXTRA), "imagenet", crop, jpeg),
        ("imagenet-c-all", every, "imagenet", crop, jpeg),
        ("imagenet-c-299", ["clean", *ids(FIFTEEN)], "inception", central, jpeg),
        ("tiny-imagenet-c", ["clean", *ids(FIFTEEN)], "tiny", {"kind": "resize", "side": 64}, jpeg),
        ("flageval-noise", ids(noise), "imagenet", crop, jpeg),
        ("cifar10-c", every, "cifar", {"kind": "none", "channels": "keep"}, PngEncoding()),
        ("cifar100-c", every, "cifar", {"kind": "none", "channels": "keep"}, PngEncoding()),
        ("imagenet-train-distortions", ids(["uniform_noise", "fisheye"]), "imagenet", crop, jpeg),
    ):
        recipe = load_recipe(name)
        specs = recipe.resolve().sets
        assert [s.id for s in specs] == expected
        for spec in specs:
            corruptions = {t.corruption for t in spec.stages}
            trains = "train" if "train" in name else "test"
            assert spec.role == ("validation" if corruptions & {*EXTRA} else trains)
        assert has_table_parameters(recipe)
        assert (recipe.name, recipe.calibration, recipe.scale, recipe.encoding) == (name, calibration, "none", encoding)
        assert recipe.preprocessing.as_json().items() >= preprocessing.items()
        assert recipe.title
        assert recipe.description


def test_mnist_c_has_published_sets():
    """Mu and Gilmer 2019: fifteen corruptions at one severity each, and the clean images as "identity", in the
    published order.
    """
    published = """identity/ shot_noise/5 impulse_noise/4 glass_blur/1 motion_blur/1 shear/2 scale/3 rotate/2
    brightness/5 translate/3 stripe/1 fog/5 spatter/4 dotted_line/1 zigzag/1 canny_edges/1""".split()
    recipe = load_recipe("mnist-c")
    specs = recipe.resolve().sets
    assert [s.aliases for s in specs] == [(p.split("/")[0],) for p in published]
    assert [s.id for s in specs] == ["clean", *published[1:]]
    assert {s.role for s in specs} == {"test"}
    assert recipe.calibration == "mnist"
    assert recipe.preprocessing.as_json() == {"kind": "none", "channels": "keep"}
    assert recipe.encoding.format == "png"
    assert {len(spec.stages) for spec in specs[1:]} == {1}
    assert has_table_parameters(recipe)


def test_manifest_contains_resolved_recipe():
    text = 'ladder = "text"\n' + HEAD + '[[sets]]\ncorruptions = ["fade_black"]\nlevels = 1\n'
    recipe = parse_recipe(text, "The recipe")
    assert recipe.table().ladder == recipe.resolve().record["ladder"] == "text"
    resolved = load_recipe("imagenet-c").resolve()
    record = resolved.record
    assert not {"ladder", "stages", "pairs"} & record.keys()
    assert json.loads(json.dumps(record)) == record
    assert record["sets"] == [s.as_json() for s in resolved.sets]
    assert (record["calibration"], record["calibration_side"]) == ("imagenet", 224)
    assert record["preprocessing"] == load_recipe("imagenet-c").preprocessing.as_json()


def test_recipe_names_are_resolved():
    assert " ".join(recipe_names()) == (
        "cifar10-c cifar100-c detection-c flageval flageval-noise fragile-cifar10 fragile-cifar10-exhaustive "
        "fragile-imagenet icons50-apple icons50-microsoft icons50-subtype image-degrade-30 image-degrade-30-299 "
        "image-degrade-30-model image-degrade-30-text imagenet-c imagenet-c-299 imagenet-c-all imagenet-c-extra "
        "imagenet-train-distortions location-cifar10 mnist-c pgd-5 tiny-imagenet-c two-factor-69 two-factor-imagenet-c "
        "two-factor-train"
    )
    assert load_recipe("imagenet-d") is load_recipe("imagenet-c")
    names = [*recipe_names(), *recipe_aliases()]
    assert len(set(names)) == len(names)
    for name, message in (
        (
            "imagenet_c",
            r"no recipe 'imagenet_c'\. Did you mean 'imagenet-c'\? `corruptset list recipes` lists all names",
        ),
        ("imagenet", r"Did you mean 'imagenet-c'\? Also near: 'imagenet-d', "),
        ("fog", r"'fog' is a corruption, .* --sets 'fog/\*'`\."),
    ):
        with pytest.raises(RecipeError, match=message):
            load_recipe(name)


def test_custom_recipe_and_table_are_accepted(tmp_path):
    (tmp_path / "mine.toml").write_text(
        'name = "gentle"\nside = 224\n[sources]\nus = "chosen by eye"\n'
        '[[fog]]\nseverity = 1\nweight = 0.4\nwibble_decay = 3\nsource = "us"\n'
    )
    text = HEAD.replace('"imagenet"', '"mine.toml"') + '[[sets]]\ncorruptions = ["fog"]\nseverities = [1]\n'
    (tmp_path / "own.toml").write_text(text)
    for options in (tmp_path / "own.toml", str(tmp_path / "own.toml")):
        custom = load_recipe(options)
        (spec,) = custom.resolve().sets
        assert (spec.id, spec.role, spec.aliases) == ("fog/1", "test", ())
        assert spec.stages[0].parameters == {"weight": 0.4, "wibble_decay": 3.0}
    # a manifest never contains a path
    assert custom.resolve().record["calibration"] == "gentle"
    assert str(tmp_path) not in json.dumps(custom.resolve().record)
    (other,) = custom.resolve("imagenet").sets
    assert other.stages[0].parameters != spec.stages[0].parameters
    assert load_recipe(custom) is custom


def test_file_errors_are_reported(tmp_path):
    for path, text, message in (
        ("none.toml", None, "cannot be read"),
        ("bad.toml", "name = ", "is not valid TOML"),
        ("cal.toml", HEAD.replace("imagenet", "imagnet"), "no calibration 'imagnet'. Did you mean 'imagenet'"),
        ("tab.toml", HEAD.replace("imagenet", "absent.toml"), "absent.toml cannot be read"),
    ):
        if text is not None:
            (tmp_path / path).write_text(f"{text}[[sets]]\nclean = true\n")
        with pytest.raises(RecipeError, match=re.escape(message)) as error:
            load_recipe(tmp_path / path)
        assert str(tmp_path / path) in str(error.value)


def test_recipe_can_extend_another(tmp_path):
    """Keys and tables replace those of the base completely, and paths are relative to the file that contains them."""
    base = load_recipe("imagenet-c")
    head = 'extends = "{}"\nname = "mine"\nversion = "2.0"\n'
    custom = parse_recipe(head.format("imagenet-d") + '[encoding]\nformat = "png"\n', "own")
    assert (custom.name, custom.version, custom.title, custom.aliases, custom.published) == (
        "mine",
        "2.0",
        "",
        (),
        None,
    )
    assert custom.encoding == PngEncoding()
    fields = ("calibration", "expects", "preprocessing", "sets", "storage")
    assert [getattr(custom, field) for field in fields] == [getattr(base, field) for field in fields]
    pairs = '[[pairs]]\nfirst = ["fog-1"]\nsecond = ["snow-1"]\n'
    assert len(parse_recipe(head.format("imagenet-c") + pairs, "own").resolve().sets) == 2
    plain = parse_recipe(head.format("fragile-cifar10") + 'preprocessing = {kind = "none"}\n', "own")
    assert (plain.regions, plain.preprocessing.kind) == (None, "none")

    (tmp_path / "deep").mkdir()
    gentle = (DOCS / "recipes.md").read_text("utf-8").split("```toml\n")[2].partition("```")[0]
    (tmp_path / "deep/gentle.toml").write_text(gentle)
    middle = 'calibration = "gentle.toml"\nsets = [{corruptions = ["fog"], severities = [1]}]\n'
    (tmp_path / "deep/middle.toml").write_text(head.format("imagenet-c") + middle)
    (tmp_path / "own.toml").write_text(head.format("deep/middle.toml") + 'encoding = {format = "png"}\n')
    recipe = load_recipe(tmp_path / "own.toml")
    assert (recipe.table().name, recipe.encoding.format, len(recipe.resolve().sets)) == ("gentle", "png", 1)


@pytest.mark.parametrize(
    ("base", "message"),
    [
        ('"imagenetc"', "extends cannot be read.*no recipe 'imagenetc'. Did you mean 'imagenet-c'"),
        ('"gone.toml"', "extends cannot be read.*gone.toml cannot be read"),
        ('"./own.toml"', "extend each other in a circle"),
        ('"other.toml"', "extend each other in a circle"),
        ("7", "extends is 7; expected the name or the path of a recipe"),
    ],
)
def test_unsuitable_recipe_cannot_be_extended(tmp_path, base, message):
    (tmp_path / "own.toml").write_text(f'extends = {base}\nname = "mine"\nversion = "1"\n')
    (tmp_path / "other.toml").write_text('extends = "own.toml"\nname = "mine"\nversion = "1"\n')
    with pytest.raises(RecipeError, match=message):
        load_recipe(tmp_path / "own.toml")


def test_documented_recipes_work(tmp_path):
    """Every TOML block of docs/recipes.md is a valid recipe."""
    text = (DOCS / "recipes.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```toml\n(.*?)```", text, flags=re.DOTALL)
    assert len(blocks) == 4
    shipped, table, changed, own = blocks
    assert parse_recipe(changed, "the documented change").encoding == PngEncoding()
    assert parse_recipe(shipped, "the documented recipe") == load_recipe("imagenet-c")
    (tmp_path / "gentle.toml").write_text(table, encoding="utf-8")
    (tmp_path / "own.toml").write_text(own, encoding="utf-8")
    assert tomllib.loads(own)["calibration"] == "gentle.toml"
    assert [s.id for s in load_recipe(tmp_path / "own.toml").resolve().sets] == [
        "clean", "fog/1", "fog/2", "gaussian_noise/1", "gaussian_noise/2", "fog-2+gaussian_noise-1", "fo1-ga015",
    ]  # fmt: skip
    for name in recipe_names():
        assert f"`{name}`" in text
    for model in (
        Recipe.model_fields,
        Published.model_fields,
        SurrogateEntry.model_fields,
        JpegEncoding.model_fields,
        ResizeCrop.model_fields,
    ):
        for key in model:
            assert f"`{key}`" in text, key
