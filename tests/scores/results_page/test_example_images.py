"""Test the example images of results pages: panels, failures, and the predictions that belong to scores."""

from __future__ import annotations

import json
import re
import shutil

import example_scores
import numpy as np
import predictions
import pytest
from result_pages import figure_images, full_scores, random_scores, report_page, results_dataset, section, tables

import corruptset
from corruptset.errors import ParameterError, ScoreError
from corruptset.scores.outcomes import Predictions


def nearest(page_image, images):
    """Return the key of the image that a page shows."""
    return min(images, key=lambda key: np.abs(page_image - images[key]).mean())


def captions(part):
    return {node.one("figcaption").text: node for node in part.all("figure")}


def test_flips_are_counted_and_shown_by_number_of_models(flips_report, data):
    page, predicted = flips_report
    failures = section(page, "failures")
    rows = {row[0]: row[1:] for row in tables(failures)["Failures by set"][1]}
    assert set(rows) == set(data.set_ids) - {"clean"}
    times = {name: np.zeros(len(data.samples), int) for name in rows}
    for name, row in rows.items():
        for number, model_predictions in enumerate(predicted):
            was, now = model_predictions.outcomes["clean"].correct, model_predictions.outcomes[name].correct
            times[name] += was & ~now
            lost, won = (was & ~now).sum(), (~was & now).sum()
            assert row[3 * number : 3 * number + 3] == [str(lost), f"{100 * lost / was.sum():.2f}", str(won)]
    figures, pixels = {node.attributes["id"]: node for node in failures.all("figure")}, figure_images(page)
    shown = {name: [] for name in rows}
    for id, figure in [(id, figure) for id, figure in figures.items() if not id.endswith("-clean")]:
        clean, name = figures[f"{id}-clean"].one("figcaption").text, id.split("-")[1]
        sample = next(s for s in data.samples if clean.startswith(f"{s.id}, clean: {s.class_}"))
        assert nearest(pixels[id], dict(enumerate(data[name].array().astype(np.float32)))) == sample.index
        shown[name].append(times[name][sample.index])
        for model_predictions in predicted:
            guess = data.classes[model_predictions.outcomes[name].predicted[sample.index]].name
            correct = model_predictions.outcomes[name].correct[sample.index]
            assert f"{model_predictions.model}: {'correct' if correct else guess}" in figure.one("figcaption").text
    for name, counts in shown.items():
        assert counts == sorted(times[name], reverse=True)[: len(counts)]
        assert counts[-1] > 0


def test_missing_predictions_and_clean_images_are_reported(full_report, data, shared_data, tmp_path):
    missing = "The failures of net-a, net-b, net-c are not shown, because scores files do not contain predictions."
    assert missing in section(full_report[0], "failures").text

    def failures(of, scores, predicted):
        return section(report_page(of, scores, tmp_path / "r.html", predictions=predicted), "failures")

    scores, (one, other) = random_scores(data, "net-a", "net-b")
    without = Predictions("net-b", data.digest, {name: o for name, o in other.outcomes.items() if name != "clean"})
    text = failures(data, scores, {"net-a": one, "net-b": without}).text
    assert "The predictions of net-b have no clean images, so its failures are unknown." in text
    assert "scores files do not contain predictions" not in text
    bright = results_dataset(shared_data, name="bright", more='[[sets]]\ncorruptions = ["brightness"]\n')
    html = failures(bright, *random_scores(bright, "net", clean=True))
    assert "The dataset has no clean images, so none are shown." in html.text
    ids = [node.attributes["id"] for node in html.all("figure")]
    assert ids
    assert not [id for id in ids if id.endswith("-clean")]


def test_panels_show_image_at_level_of_profile(full_report, data):
    page, scores = full_report
    panels, thresholds = section(page, "panels"), ("0.9", "0.5", "0.1")
    expected, never = [], 0
    for threshold, score in [(threshold, score) for threshold in thresholds for score in scores]:
        never += any(profile.first_below[threshold] is None for profile in score.profiles.values())
        for name, profile in score.profiles.items():
            if (below := profile.first_below[threshold]) is not None:
                changed = f"{100 * below.changed:.0f} % of pixels changed"
                accuracy = f"accuracy {100 * profile.accuracy[below.level]:.1f} %"
                expected.append(f"{name}, level {below.level}: {below.change}, {changed}; {accuracy}")
    figures = list(panels.all("figure"))
    assert [node.one("figcaption").text for node in figures] == expected
    assert sum(p.text.startswith("Never below") for p in panels.all("p")) == never
    pixels, firsts = figure_images(page), {name: data[name].image(0).astype(np.float32) for name in data}
    pictured = [(node, text) for node, text in zip(figures, expected, strict=True) if node.attributes["id"] in pixels]
    assert len(pictured) == sum(caption.startswith(("black_lines", "fade_black")) for caption in expected)
    for figure, caption in pictured:
        name, level = re.match(r"(\w+), level (\d+):", caption).groups()
        levels = {n: firsts[f"{name}/{n:02d}" if n else "clean"] for n in range(31)}
        assert nearest(pixels[figure.attributes["id"]], levels) == int(level)
        assert f"level {level}" in figure.one("svg").attributes["aria-label"]


def test_panels_show_selected_sample(data, tmp_path):
    scores, out = full_scores(data, "net-a"), tmp_path / "r.html"
    page = report_page(data, scores, out, sample=data.samples[7].id)
    panels = section(page, "panels")
    assert f"One image ({data.samples[7].id}, class" in panels.text
    caption, figure = next(pair for pair in captions(panels).items() if pair[0].startswith("fade_black"))
    level = int(re.search(r"level (\d+)", caption).group(1))
    assert np.abs(figure_images(page)[figure.attributes["id"]] - data[f"fade_black/{level:02d}"].image(7)).mean() < 4
    with pytest.raises(ParameterError, match="has no sample '00_class/im'"):
        corruptset.report(data, scores, tmp_path / "none.html", sample="00_class/im")
    assert not (tmp_path / "none.html").exists()
    # The default is the first image that all models classify correctly.
    custom, predicted = random_scores(data, "net-a", "net-b", best=0.5)
    page_of_both = report_page(data, custom, out, predictions=predicted)
    first = int(
        np.argmax(np.all([model_predictions.outcomes["clean"].correct for model_predictions in predicted], axis=0))
    )
    assert first > 0
    assert f"One image ({data.samples[first].id}, class" in page_of_both.text
    # Images that were not unpacked are left out.
    shutil.copytree(data.path, tmp_path / "d")
    included = [name for name in data.set_ids if not name.startswith("fade_black")]
    partial = {"schema_version": 1, "digest": data.digest, "manifest": data.digest, "sets": included, "pieces": {}}
    (tmp_path / "d/PARTIAL.json").write_text(json.dumps(partial), "utf-8")
    panels = section(report_page(tmp_path / "d", scores, out), "panels")
    shown = {text.partition(",")[0]: bool(list(node.all("use"))) for text, node in captions(panels).items()}
    assert (shown["black_lines"], shown["fade_black"]) == (True, False)
    assert "The dataset does not contain this image." in panels.text


def test_all_mismatches_are_reported_together(data, tmp_path):
    scores, predicted = random_scores(data, "net-a", "net-b")
    files = example_scores.write_scores(tmp_path, *scores, example_scores.minimal_scores("other"), scores[0])
    (tmp_path / "bad.json").write_text("{}")
    invalid, foreign = (Predictions(n, data.digest, predicted[0].outcomes) for n in ("net-b", "net-z"))
    prediction_paths = [invalid, foreign, f"none={tmp_path}"]
    with pytest.raises(ScoreError) as exc_info:
        corruptset.report(data, [*files, tmp_path / "bad.json"], tmp_path / "r.html", predictions=prediction_paths)
    for part in (
        "bad.json is not a scores file",
        f"'net-a' occurs 2 times ({files[0]}, {files[3]})",
        f"{files[2]} has scores of the dataset small-c 1.0.0",
        "The predictions of 'net-b' do not belong to the scores, because the accuracy differs in",
        "The predictions belong to the model 'net-z', but the models are net-a, net-b, other, net-a. Name the",
        "Predictions were given for 'none', which is not one of the models: ",
    ):
        assert part in str(exc_info.value)
    assert not (tmp_path / "r.html").exists()
    for own, twice, message in ((scores, [predicted[0]] * 2, "are given twice"), ([], (), "no scores were given")):
        with pytest.raises(ScoreError, match=message):
            corruptset.report(data, own, tmp_path / "r.html", predictions=twice)


def test_predictions_next_to_scores_are_found(data, tmp_path, monkeypatch):
    labels = np.array([sample.label for sample in data.samples])
    is_true = labels[:, None] == np.arange(len(data.classes))
    logits = np.random.default_rng(1).normal(size=is_true.shape)
    logits[::2, 0] += 9
    subset = [name for name in data if name.startswith("brightness")]
    sets = {name: {"logits": logits + 4 * is_true * (name == "clean")} for name in ["clean", *subset]}
    beside, apart = predictions.write_folder(tmp_path / "net", sets), tmp_path / "apart"
    (beside / "predictions.json").write_text(json.dumps({"model": "net", "digest": data.digest}))
    scores = corruptset.score(data, beside, sets=subset, out=beside)
    corruptset.score(data, beside, sets=subset, out=apart)

    def page_content(scores, **options):
        result = corruptset.report(data, [scores], tmp_path / "r.html", **options)
        return result.images, result.file.read_bytes()

    page_with_predictions = page_content(apart, predictions=[beside])
    assert page_content(beside) == page_content(beside / "scores.json") == page_with_predictions
    monkeypatch.chdir(beside)  # Scores that do not come from a file have no predictions next to them.
    without = {page_content(path)[0] for path in (apart, scores)}
    # Images with an odd number are correct when clean.
    half = np.where(np.arange(len(labels)) % 2, 0, labels)[:, None] == np.arange(len(data.classes))
    predictions.write_folder(beside, {name: {"logits": 9.0 * half} for name in subset})
    without.add(page_content(beside)[0])
    (beside / "clean.npz").write_bytes(b"damaged")
    without.add(page_content(beside)[0])
    assert len(without) == 1
    assert page_with_predictions[0] > without.pop()
