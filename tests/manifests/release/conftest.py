"""Datasets that are packed once for all tests of this folder."""

import json

import pytest
from packs import RECORD, TOP, pack_dataset, read_tar


@pytest.fixture(scope="session")
def packs(tmp_path_factory, templates):
    """Return a function that packs a kind of dataset once. `of` are the options of `write_dataset`."""
    results = {}

    def make(of=None, **options):
        key = repr((of, options))
        if key not in results:
            root = templates(**(of or {}))
            results[key] = root, pack_dataset(root, tmp_path_factory.mktemp("packed"), **options)
        return results[key]

    return make


@pytest.fixture(scope="session")
def valid_members(packs):
    """Return the members of a valid archive in order. It has a short name without the digits that identify a pack."""
    _, bag = packs({"containers": ("folder",)})
    first, *others = read_tar(next(bag.path.glob("data/*-clean.tar")))
    return {RECORD: json.dumps({**json.loads(first[1]), "archive": f"{TOP}-clean"}).encode(), **dict(others)}
