"""What tests of the page of results look at."""

from __future__ import annotations

import pytest
from result_pages import build, full, reported, scored


@pytest.fixture(scope="session")
def data(shared):
    return build(shared)


@pytest.fixture(scope="session")
def everything(data, tmp_path_factory):
    """A page of three models with something of everything."""
    scores = full(data, "net-a", "net-b", "net-c")
    return reported(data, scores, tmp_path_factory.mktemp("report") / "r.html"), scores


@pytest.fixture(scope="session")
def flips(data, tmp_path_factory):
    """A page of two models with their predictions."""
    scores, predictions = scored(data, "net-a", "net-b")
    out = tmp_path_factory.mktemp("report") / "r.html"
    return reported(data, scores, out, predictions=predictions), predictions
