"""What tests of the page of results look at."""

from __future__ import annotations

import pytest
from html_tree import read_html
from result_pages import build, full, scored

import corruptset


@pytest.fixture(scope="session")
def data(shared):
    return build(shared)


@pytest.fixture(scope="session")
def everything(data, tmp_path_factory):
    """A page of three models with something of everything."""
    scores = full(data, "net-a", "net-b", "net-c")
    return read_html(corruptset.report(data, scores, tmp_path_factory.mktemp("report") / "r.html").file), scores


@pytest.fixture(scope="session")
def flips(data, tmp_path_factory):
    """A page of two models with their predictions."""
    scores, predictions = scored(data, "net-a", "net-b")
    out = tmp_path_factory.mktemp("report") / "r.html"
    return read_html(corruptset.report(data, scores, out, predictions=predictions).file), predictions
