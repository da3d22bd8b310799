"""What tests of the page of results look at."""

from __future__ import annotations

import layouts
import pytest
from html_tree import Node, read_html
from result_pages import build, full, scored

import corruptset
from corruptset.manifests.reader import DataSet
from corruptset.scores.outcomes import Predictions
from corruptset.scores.records import Scores


@pytest.fixture(scope="session")
def data(shared: layouts.Shared) -> DataSet:
    return build(shared)


@pytest.fixture(scope="session")
def everything(data: DataSet, tmp_path_factory: pytest.TempPathFactory) -> tuple[Node, list[Scores]]:
    """A page of three models with something of everything."""
    scores = full(data, "net-a", "net-b", "net-c")
    out = tmp_path_factory.mktemp("report") / "report.html"
    corruptset.report(data, scores, out)
    return read_html(out), scores


@pytest.fixture(scope="session")
def flips(data: DataSet, tmp_path_factory: pytest.TempPathFactory) -> tuple[Node, list[Predictions]]:
    """A page of two models with their predictions."""
    scores, predictions = scored(data, "net-a", "net-b")
    out = tmp_path_factory.mktemp("report") / "report.html"
    corruptset.report(data, scores, out, predictions=predictions)
    return read_html(out), predictions
