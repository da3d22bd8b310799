"""Failures: which images flip is counted and shown, by set."""

from __future__ import annotations

from pathlib import Path

import layouts
import numpy as np
from html_tree import Node, read_html
from result_pages import build, picture, scored, section, tables

import corruptset
from corruptset.manifests.reader import DataSet
from corruptset.scores.outcomes import Predictions
from corruptset.scores.records import Scores


def test_flips_are_counted_and_shown(flips: tuple[Node, list[Predictions]], data: DataSet) -> None:
    page, predictions = flips
    failures = section(page, "failures")
    rows = {row[0]: row[1:] for row in tables(failures)["Images that flip, by set"][1]}
    assert set(rows) == set(data.set_ids) - {"clean"}
    for name, row in rows.items():
        for number, one in enumerate(predictions):
            was, now = one.outcomes["clean"].correct, one.outcomes[name].correct
            lost = sum(bool(a) and not b for a, b in zip(was, now, strict=True))
            won = sum(not a and bool(b) for a, b in zip(was, now, strict=True))
            assert row[3 * number : 3 * number + 3] == [str(lost), f"{100 * lost / sum(was):.2f}", str(won)]
    figures = {node.attributes["id"]: node for node in failures.all("figure")}
    assert {id.split("-")[1] for id in figures} == set(rows)
    for id, figure in figures.items():
        if id.endswith("-clean"):
            continue
        clean = figures[f"{id}-clean"].one("figcaption").text
        sample = next(s for s in data.samples if clean.startswith(f"{s.id}, clean: {s.class_}"))
        name = id.split("-")[1]
        shown = picture(page, figure).astype(float)
        distances = [np.abs(shown - image).mean() for image in data[name].images()]
        assert int(np.argmin(distances)) == sample.index
        said = figure.one("figcaption").text
        assert any(
            one.outcomes["clean"].correct[sample.index] and not one.outcomes[name].correct[sample.index]
            for one in predictions
        )
        for one in predictions:
            guess = int(one.outcomes[name].predicted[sample.index])  # type: ignore[index]
            assert (
                f"{one.model}: {'right' if one.outcomes[name].correct[sample.index] else data.classes[guess].name}"
                in said
            )


def test_images_that_flip_for_more_models_come_first(flips: tuple[Node, list[Predictions]], data: DataSet) -> None:
    page, predictions = flips
    for name in ("fade_black/30", "brightness/5"):
        times = sum((one.outcomes["clean"].correct & ~one.outcomes[name].correct).astype(int) for one in predictions)
        ids = [
            node.one("figcaption").text.partition(",")[0]
            for node in section(page, "failures").all("figure")
            if node.attributes["id"].startswith(f"failure-{name}-") and node.attributes["id"].endswith("-clean")
        ]
        of_id = {s.id: int(times[s.index]) for s in data.samples}
        assert [of_id[id] for id in ids] == sorted(of_id.values(), reverse=True)[: len(ids)]


def test_without_predictions_it_says_what_to_give(
    everything: tuple[Node, list[Scores]], data: DataSet, tmp_path: Path
) -> None:
    assert (
        "nothing is shown here of net-a, net-b, net-c: give corruptset report the predictions too"
        in section(everything[0], "failures").text
    )
    scores, (one, other) = scored(data, "net-a", "net-b")
    without = Predictions("net-b", data.digest, {name: o for name, o in other.outcomes.items() if name != "clean"})
    corruptset.report(data, scores, tmp_path / "r.html", predictions={"net-a": one, "net-b": without})
    text = section(read_html(tmp_path / "r.html"), "failures").text
    assert "The predictions of net-b have no clean images" in text
    assert "Scores files do not say" not in text


def test_a_data_set_without_clean_images(shared: layouts.Shared, tmp_path: Path) -> None:
    data = build(shared, name="bright", more='[[sets]]\ncorruptions = ["brightness"]\n')
    scores, predictions = scored(data, "net", clean=True)
    corruptset.report(data, scores, tmp_path / "r.html", predictions=predictions)
    failures = section(read_html(tmp_path / "r.html"), "failures")
    assert "The data set has no clean images, so that none stand beside the others." in failures.text
    assert list(failures.all("figure"))
    assert not [node for node in failures.all("figure") if node.attributes["id"].endswith("-clean")]
