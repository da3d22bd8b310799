"""Panels and failures: which image stands where, and which predictions go with which scores."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import layouts
import made_scores
import numpy as np
import predictions
import pytest
from html_tree import Node, read_html
from result_pages import build, full, pictures, scored, section, tables

import corruptset
from corruptset.errors import ParameterError, ScoreError
from corruptset.manifests.reader import DataSet
from corruptset.scores.outcomes import Predictions
from corruptset.scores.records import Scores


def test_flips_are_counted_and_those_of_most_models_shown(flips: tuple[Node, list[Predictions]], data: DataSet) -> None:
    page, predicted = flips
    failures = section(page, "failures")
    rows = {row[0]: row[1:] for row in tables(failures)["Images that flip, by set"][1]}
    assert set(rows) == set(data.set_ids) - {"clean"}
    times = {name: np.zeros(len(data.samples), int) for name in rows}
    for name, row in rows.items():
        for number, one in enumerate(predicted):
            was, now = one.outcomes["clean"].correct, one.outcomes[name].correct
            times[name] += was & ~now
            lost, won = int((was & ~now).sum()), int((~was & now).sum())
            assert row[3 * number : 3 * number + 3] == [str(lost), f"{100 * lost / was.sum():.2f}", str(won)]
    figures = {node.attributes["id"]: node for node in failures.all("figure")}
    assert {id.split("-")[1] for id in figures} == set(rows)
    pixels, shown = pictures(page), dict[str, list[int]]()
    arrays = {name: data[name].array().astype(np.float32) for name in rows}
    for id, figure in figures.items():
        if id.endswith("-clean"):
            continue
        clean, name = figures[f"{id}-clean"].one("figcaption").text, id.split("-")[1]
        sample = next(s for s in data.samples if clean.startswith(f"{s.id}, clean: {s.class_}"))
        distances = np.abs(pixels[id] - arrays[name]).mean(axis=(1, 2, 3))
        assert int(np.argmin(distances)) == sample.index
        shown.setdefault(name, []).append(int(times[name][sample.index]))
        for one in predicted:
            guess = data.classes[int(one.outcomes[name].predicted[sample.index])].name  # type: ignore[index]
            right = one.outcomes[name].correct[sample.index]
            assert f"{one.model}: {'right' if right else guess}" in figure.one("figcaption").text
    for name, counts in shown.items():
        assert counts == sorted(times[name].tolist(), reverse=True)[: len(counts)]
        assert counts[-1] > 0


def test_without_predictions_or_clean_images_it_says_so(
    everything: tuple[Node, list[Scores]], data: DataSet, shared: layouts.Shared, tmp_path: Path
) -> None:
    missing = "nothing is shown here of net-a, net-b, net-c: give corruptset report the predictions too"
    assert missing in section(everything[0], "failures").text
    scores, (one, other) = scored(data, "net-a", "net-b")
    without = Predictions("net-b", data.digest, {name: o for name, o in other.outcomes.items() if name != "clean"})
    corruptset.report(data, scores, tmp_path / "r.html", predictions={"net-a": one, "net-b": without})
    text = section(read_html(tmp_path / "r.html"), "failures").text
    assert "The predictions of net-b have no clean images" in text
    assert "Scores files do not say" not in text
    bright = build(shared, name="bright", more='[[sets]]\ncorruptions = ["brightness"]\n')
    scores, predicted = scored(bright, "net", clean=True)
    corruptset.report(bright, scores, tmp_path / "r.html", predictions=predicted)
    failures = section(read_html(tmp_path / "r.html"), "failures")
    assert "The data set has no clean images, so that none stand beside the others." in failures.text
    ids = [node.attributes["id"] for node in failures.all("figure")]
    assert ids
    assert not [id for id in ids if id.endswith("-clean")]


def test_panels_show_the_image_at_the_level_of_the_profile(
    everything: tuple[Node, list[Scores]], data: DataSet
) -> None:
    page, scores = everything
    panels = section(page, "panels")
    profiles = [
        (name, profile, t) for t in ("0.9", "0.5", "0.1") for one in scores for name, profile in one.profiles.items()
    ]
    expected = []
    for name, profile, threshold in profiles:
        if (below := profile.first_below[threshold]) is not None:
            accuracy = f"accuracy {100 * profile.accuracy[below.level]:.1f} %"
            changed = f"{100 * (below.changed or 0):.0f} % of pixels changed"
            expected.append(f"{name}, level {below.level}: {below.change}, {changed}; {accuracy}")
    captions = [node.one("figcaption").text for node in panels.all("figure")]
    assert captions == expected
    pixels = pictures(page)
    pictured = [node for node in panels.all("figure") if node.attributes["id"] in pixels]
    firsts = {name: data[name].image(0).astype(np.float32) for name in data}
    assert len(pictured) == sum(caption.startswith(("black_lines", "fade_black")) for caption in captions)
    for figure in pictured:
        name, level = re.match(r"(\w+), level (\d+):", figure.one("figcaption").text).groups()  # type: ignore[union-attr]
        shown = pixels[figure.attributes["id"]]
        distances = {n: np.abs(shown - firsts[f"{name}/{n:02d}" if n else "clean"]).mean() for n in range(31)}
        assert min(distances, key=lambda n: distances[n]) == int(level)
        assert f"level {level}" in figure.one("svg").attributes["aria-label"]
    never = [p.text for p in panels.all("p") if p.text.startswith("Never below")]
    above = [(one, t) for one in scores for t in ("0.9", "0.5", "0.1")]
    assert len(never) == sum(any(p.first_below[t] is None for p in one.profiles.values()) for one, t in above)


def test_the_sample_of_the_panels(data: DataSet, tmp_path: Path) -> None:
    scores = full(data, "net-a")
    corruptset.report(data, scores, tmp_path / "r.html", sample=data.samples[7].id)
    page = read_html(tmp_path / "r.html")
    assert f"One image ({data.samples[7].id}, class" in section(page, "panels").text
    captions = {node.one("figcaption").text: node for node in section(page, "panels").all("figure")}
    caption, figure = next(pair for pair in captions.items() if pair[0].startswith("fade_black"))
    level = int(re.search(r"level (\d+)", caption).group(1))  # type: ignore[union-attr]
    assert np.abs(pictures(page)[figure.attributes["id"]] - data[f"fade_black/{level:02d}"].image(7)).mean() < 4
    with pytest.raises(ParameterError, match="has no sample '00_class/im'"):
        corruptset.report(data, scores, tmp_path / "none.html", sample="00_class/im")
    assert not (tmp_path / "none.html").exists()
    scores, predicted = scored(data, "net-a", "net-b", best=0.5)
    corruptset.report(data, scores, tmp_path / "r.html", predictions=predicted)
    right = np.all([one.outcomes["clean"].correct for one in predicted], axis=0)
    assert not right[0]
    assert f"One image ({data.samples[int(np.flatnonzero(right)[0])].id}, class" in read_html(tmp_path / "r.html").text
    # images that were not unpacked are left out
    shutil.copytree(data.path, tmp_path / "d")
    there = [name for name in data.set_ids if not name.startswith("fade_black")]
    partial = {"schema_version": 1, "digest": data.digest, "manifest": data.digest, "sets": there, "pieces": {}}
    (tmp_path / "d/PARTIAL.json").write_text(json.dumps(partial), "utf-8")
    corruptset.report(tmp_path / "d", full(data, "net-a"), tmp_path / "r.html")
    panels = section(read_html(tmp_path / "r.html"), "panels")
    shown = {n.one("figcaption").text.partition(",")[0]: bool(list(n.all("use"))) for n in panels.all("figure")}
    assert (shown["black_lines"], shown["fade_black"]) == (True, False)
    assert "The data set does not have this image." in panels.text


def test_all_that_does_not_belong_together_is_told_at_once(data: DataSet, tmp_path: Path) -> None:
    scores, predicted = scored(data, "net-a", "net-b")
    other = Scores.model_validate(made_scores.bare("other"))
    files = made_scores.write(tmp_path, *scores, other, scores[0])
    (tmp_path / "bad.json").write_text("{}")
    wrong, foreign = (Predictions(n, data.digest, dict(predicted[0].outcomes)) for n in ("net-b", "net-z"))
    given = [wrong, foreign, f"none={tmp_path}"]
    with pytest.raises(ScoreError) as caught:
        corruptset.report(data, [*files, tmp_path / "bad.json"], tmp_path / "r.html", predictions=given)
    for part in (
        "bad.json is no scores file",
        f"'net-a' is there 2 times ({files[0]}, {files[3]})",
        f"{files[2]} has scores of another data set, small-c 1.0.0",
        "the predictions of 'net-b' are not those that were scored: their accuracy on",
        "the predictions are of 'net-z', which is none of the models (net-a, net-b, other, net-a): name it, as ",
        "there are predictions of 'none', which is none of the models",
    ):
        assert part in str(caught.value)
    assert not (tmp_path / "r.html").exists()
    with pytest.raises(ScoreError, match="are there twice"):
        corruptset.report(data, scores, tmp_path / "r.html", predictions=[predicted[0], predicted[0]])
    with pytest.raises(ScoreError, match="no scores were given"):
        corruptset.report(data, [], tmp_path / "r.html")


def test_predictions_beside_the_scores_are_found(
    data: DataSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    labels = np.array([sample.label for sample in data.samples])
    logits = np.random.default_rng(1).normal(size=(len(labels), len(data.classes)))
    logits[::2, 0] += 9
    is_true = labels[:, None] == np.arange(len(data.classes))
    sets = {name: {"logits": logits + 4 * is_true * (name == "clean")} for name in data}
    beside = predictions.write_folder(tmp_path / "net", sets)
    (beside / "predictions.json").write_text(json.dumps({"model": "net", "digest": data.digest}))
    scores = corruptset.score(data, beside, out=beside)
    apart = tmp_path / "apart"
    corruptset.score(data, beside, out=apart)
    given = corruptset.report(data, [apart], tmp_path / "given.html", predictions=[beside])
    for found in (beside, beside / "scores.json"):
        assert corruptset.report(data, [found], tmp_path / "found.html").pictures == given.pictures
        assert (tmp_path / "found.html").read_bytes() == (tmp_path / "given.html").read_bytes()

    monkeypatch.chdir(beside)  # scores that come from no file have no neighbours
    without = {corruptset.report(data, [one], tmp_path / "without.html").pictures for one in (apart, scores)}
    # odd ones are right when clean
    half = np.where(np.arange(len(labels)) % 2, 0, labels)[:, None] == np.arange(len(data.classes))
    predictions.write_folder(beside, {name: {"logits": 9.0 * half} for name in data if name != "clean"})
    without.add(corruptset.report(data, [beside], tmp_path / "without.html").pictures)
    (beside / "clean.npz").write_bytes(b"damaged")
    without.add(corruptset.report(data, [beside], tmp_path / "without.html").pictures)
    assert len(without) == 1
    assert given.pictures > without.pop()
