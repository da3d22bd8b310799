"""Data sets packed once for all tests here."""

import json

import pytest
from packs import RECORD, TOP, pack_dataset, read_tar


@pytest.fixture(scope="session")
def packs(tmp_path_factory, templates):
    """Return a function that packs a kind of data set (`of`: options of write_dataset) in some way, once."""
    made = {}

    def make(of=None, **options):
        key = repr((of, options))
        if key not in made:
            root = templates(**(of or {}))
            made[key] = root, pack_dataset(root, tmp_path_factory.mktemp("packed"), **options)
        return made[key]

    return make


@pytest.fixture(scope="session")
def good(packs):
    """The members of a good archive, in order; it has a short name, as archives had before each pack had names of its
    own.
    """
    _, bag = packs({"containers": ("folder",)})
    first, *others = read_tar(next(bag.path.glob("data/*-clean.tar")))
    return {RECORD: json.dumps({**json.loads(first[1]), "archive": f"{TOP}-clean"}).encode(), **dict(others)}
