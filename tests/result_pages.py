"""Helpers for tests of the results page: datasets, scores, tables and images."""

from __future__ import annotations

import base64
import io

import example_scores
import numpy as np
from html_tree import read_html
from PIL import Image
from record_datasets import random_predictions

import corruptset

SETS = """
[[sets]]
clean = true

[[sets]]
corruptions = ["fade_black", "black_lines"]
levels = 30

[[sets]]
corruptions = ["brightness"]
"""


def results_dataset(shared_data, name="results", more=SETS, **options):
    """Return a small dataset of 20 images with clean images, two gradual degradations and one corruption."""
    return corruptset.open(
        shared_data.build(recipe={"name": name, "more": more, "calibration": "imagenet"}, storage="hdf5", **options)
    )


def full_scores(data, *names):
    """Return complete invented scores with the digest of a dataset."""
    return example_scores.validate_scores(
        *(example_scores.full_scores(n, name) | {"digest": data.digest} for n, name in enumerate(names))
    )


def random_scores(data, *names, **options):
    """Return random predictions of some models, and their scores."""
    predictions = [random_predictions(data, seed, name, **options) for seed, name in enumerate(names)]
    return [corruptset.score(data, model_predictions) for model_predictions in predictions], predictions


def report_page(data, scores, out, **options):
    """Write a results page, and parse it."""
    return read_html(corruptset.report(data, scores, out, **options).file)


def tables(page):
    """Return caption -> (headings, rows of cells) for the tables of a page."""
    results = {}
    for table in page.all("table"):
        caption = table.one("caption").text
        assert caption not in results
        rows = [[cell.text for cell in row.all("th", "td")] for row in table.one("tbody").all("tr")]
        results[caption] = [cell.text for cell in table.one("thead").all("th")], rows
    return results


def section(page, name):
    """Return the section with an anchor."""
    return page.one("section", id=name)


def figure_images(page):
    """Return id of a figure -> pixels of its image."""
    fields = {}
    for symbol in page.all("symbol"):
        data = base64.b64decode(symbol.one("image").attributes["href"].removeprefix("data:image/jpeg;base64,"))
        fields[f"#{symbol.attributes['id']}"] = np.array(Image.open(io.BytesIO(data)).convert("RGB"), np.float32)
    uses = {figure.attributes.get("id", ""): list(figure.all("use")) for figure in page.all("figure")}
    return {id: fields[use[0].attributes["href"]] for id, use in uses.items() if id and use}
