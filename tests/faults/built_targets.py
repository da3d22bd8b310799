"""Fuzz targets for recipes, tables and the files of a finished dataset."""

from __future__ import annotations

import json
import re
import shutil
import tomllib
from importlib.resources import files as resources
from pathlib import Path

import numpy as np
from image_targets import save
from target import Target, replace_file

import corruptset
from corruptset.errors import CorruptsetError, VerificationError
from corruptset.generate.recipes.recipe import parse_recipe
from corruptset.generate.sources.source import open_source
from corruptset.manifests.checksums import parse_sha256sums
from corruptset.manifests.manifest_file import parse_manifest
from corruptset.manifests.paths import MANIFEST, SHA256SUMS, set_path
from corruptset.manifests.verify.directory import verify_directory


class Recipe(Target):
    text = True

    def make(self):
        folder = resources("corruptset.generate") / "recipes"
        return [
            f.read_bytes()
            for f in sorted(folder.iterdir(), key=str)
            if f.name.endswith(".toml") and len(f.read_bytes()) < 6000
        ]

    def try_one(self, data):
        path = self.put("x.toml", data)
        recipe = corruptset.generate.recipes.recipe.load_recipe(path)
        table = tomllib.loads(data.decode("utf-8"))
        assert (recipe.name, recipe.version) == (table["name"], table["version"])
        sets = recipe.resolve().sets
        assert sets
        assert all(re.fullmatch(r"[a-z0-9_+/-]+", s.id) for s in sets)
        json.dumps(recipe.resolve().record, allow_nan=False)


class Built(Target):
    """A small finished dataset, of which one file is mutated. `open` must give correct pixels or an error, and `verify`
    must find the change.
    """

    text = True
    name = MANIFEST

    def make(self):
        self.directory = tiny_build(self.folder / "made")
        (self.folder / "secret.png").write_bytes(save("PNG"))
        return [(self.directory / self.name).read_bytes()]

    def try_one(self, data):
        path = self.directory / self.name
        replace_file(path, data)
        try:
            report = verify_directory(self.directory)
        except CorruptsetError:
            report = None
        same = data == self.files[0] or self.equal(data)
        assert same or report is None or not report.ok, "verify did not find it"
        self.read()

    def equal(self, data):
        return False

    def read(self):
        dataset = corruptset.open(self.directory)
        for set_id in dataset.set_ids:
            for image, label in dataset[set_id]:
                assert image.dtype == np.uint8
                assert image.ndim == 3
                assert isinstance(label, int)


class ManifestJson(Built):
    def read(self):
        super().read()
        data = (self.directory / self.name).read_bytes()
        assert parse_manifest(data).as_json() == json.loads(data)


class SetRows(Built):
    name = set_path("contrast/1")


class Sums(Built):
    name = SHA256SUMS

    def read(self):
        sums, errors = parse_sha256sums((self.directory / self.name).read_bytes())
        if errors:
            raise VerificationError("\n".join(errors))
        lines = (self.directory / self.name).read_bytes().decode("utf-8", "replace").split("\n")[:-1]
        assert [f"{hash.removeprefix('sha256:')}  {path}" for path, hash in sums.items()] == lines


class Shard(Built):
    """A shard of a dataset, which is read as part of the dataset and as a source."""

    text = False

    def make(self):
        super().make()
        self.name = "hdf5/contrast/1-00000.h5"
        return [(self.directory / self.name).read_bytes()]

    def read(self):
        super().read()
        source = open_source(f"hdf5:{self.directory / self.name}")
        for sample in source.samples:
            source.load(sample)


RECIPE = """
name = "tiny"
version = "1.0.0"
title = "Tiny"
calibration = "cifar"
[preprocessing]
kind = "resize-crop"
resize = 36
crop = 32
[encoding]
format = "png"
[[sets]]
corruptions = ["contrast"]
severities = [1]
"""


def tiny_build(folder: Path) -> Path:
    """Return a dataset of eight images in both containers."""
    if folder.exists():
        shutil.rmtree(folder)
    recipe = parse_recipe(RECIPE, "tiny")
    return corruptset.build(recipe, "sample", folder, jobs=1, storage="both", metrics=0).directory
