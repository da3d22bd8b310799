"""Fixtures for the tests of results pages."""

from __future__ import annotations

import pytest
from result_pages import full_scores, random_scores, report_page, results_dataset


@pytest.fixture(scope="session")
def data(shared_data):
    return results_dataset(shared_data)


@pytest.fixture(scope="session")
def full_report(data, tmp_path_factory):
    """Return a results page of three models with scores of every kind."""
    scores = full_scores(data, "net-a", "net-b", "net-c")
    return report_page(data, scores, tmp_path_factory.mktemp("report") / "r.html"), scores


@pytest.fixture(scope="session")
def flips_report(data, tmp_path_factory):
    """Return a results page of two models with their predictions."""
    scores, predictions = random_scores(data, "net-a", "net-b")
    out = tmp_path_factory.mktemp("report") / "r.html"
    return report_page(data, scores, out, predictions=predictions), predictions
