"""Test fragile rates against a slow implementation, on synthetic records and on builds."""

from __future__ import annotations

import numpy as np
import pytest
import record_datasets
from hypothesis import given, settings
from hypothesis import strategies as st
from reference_fragile import dataset_of, exhaustive_regions, reference_flips, reference_rates, region_record
from reference_regions import SAMPLED, small_images, write_recipe, write_rows

import corruptset
from corruptset.errors import PredictionError, VerificationError
from corruptset.scores.fragile import RATES, crop_scores, measure_fragile
from corruptset.scores.outcomes import Outcome


def clean(correct, predicted=None):
    return {"clean": Outcome(np.array(correct, bool), predicted=None if predicted is None else np.array(predicted))}


def rates_of(records, correct, predicted=None, **options):
    return rates_in(measure_fragile(dataset_of(records, **options), clean(correct, predicted)))


def rates_in(outcomes):
    """Return the fields of each fragile rate by (group, kind)."""
    rates = {}
    for name, score in outcomes.scores.items():
        _, group, kind, *part = name.split(".")
        own = rates.setdefault((group, kind), {})
        own |= {part[0]: score.value} if part else {"rate": score.value, "anchors": score.count}
        own |= {} if part else {"interval": score.interval}
    return rates


def check(data, correct, predicted, *, shrunk=True, seed=0):
    """Compare the scores of a dataset with those of the slow implementation."""
    records = [s.region for s in data.samples]
    # The bootstrap numbers images in the order of their first region, which need not be an anchor.
    sources = list(dict.fromkeys(r.source for r in records))
    rows = sorted(reference_flips(records, correct, predicted, shrunk), key=lambda row: sources.index(row["source"]))
    scores = rates_in(measure_fragile(data, clean(correct, predicted), seed))
    for group, name in [(group, name) for group in {r.group for r in records} for name in RATES]:
        expected, result = reference_rates(rows, group, name, seed), scores.get((group, name))
        if expected is None:
            assert result is None
            continue
        rates, interval = expected
        assert {key: result[key] for key in rates} == pytest.approx(rates, abs=1e-12)
        assert result["interval"] == (None if interval is None else pytest.approx(interval, abs=1e-6))


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_rates_of_random_outcomes_match_reference(data):
    # The shrunk regions of side 5 are anchors of side 3.
    sides = data.draw(st.sampled_from([[3], [5], [3, 5], [4, 6], [7]]))
    sizes = data.draw(st.lists(st.integers(7, 9), min_size=1, max_size=3))
    records = [r for i, size in enumerate(sizes) for r in exhaustive_regions(f"im/{i}", size, sides)]
    order = data.draw(st.permutations(records)) if data.draw(st.booleans()) else records
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    correct = rng.random(len(records)) < data.draw(st.sampled_from([0.02, 0.5, 0.9]))
    check(dataset_of(order), correct, rng.integers(0, 3, len(records)), seed=data.draw(st.integers(0, 3)))


def test_regions_without_neighbours_match_reference():
    # Embedded images have no shrunk regions, even if their sides differ by two pixels.
    records = [r for side in (10, 12) for r in exhaustive_regions("a", 14, [side], shrunk=False)]
    correct = [r.side == 12 for r in records]
    check(dataset_of(records, kind="embed"), correct, correct, shrunk=False)
    # An image without anchors of a size contributes to the other sizes.
    records = exhaustive_regions("a", 8, [3]) + exhaustive_regions("b", 8, [5]) + exhaustive_regions("c", 8, [3])
    rng = np.random.default_rng(3)
    check(dataset_of(records), rng.random(len(records)) < 0.5, rng.integers(0, 2, len(records)))
    # Regions of different images are not neighbours.
    records = [region_record("a", 3, 0, 0), region_record("b", 3, 0, 1), region_record("b", 3, 1, 0)]
    shift = rates_of(records, [True, False, False], kind="embed")["s3", "loose_shift"]
    assert (shift["anchors"], shift["rate"]) == (2, 0)
    # The last region of a row and the first of the next one are not neighbours either.
    records = [region_record("a", 3, 0, 2), region_record("a", 3, 1, 0)]
    assert ("s3", "loose_shift") not in rates_of(records, [True, False], kind="embed")


def test_rates_match_published_definition():
    # An image of 5x5 pixels has 3x3 positions of side 3. Only the middle is correct, and all shrunk regions are wrong.
    records = exhaustive_regions("a", 5, [3])
    scores = rates_of(records, [r.anchor and (r.y, r.x) == (1, 1) for r in records])
    loose = {"rate": 1, "positive": 1 / 9, "negative": 8 / 9, "minimal": 1, "interval": None, "anchors": 9}
    assert scores["s3", "loose_shift"] == loose
    # A corner has three neighbours. All neighbours differ only for the middle region.
    strict, shrink = scores["s3", "strict_shift"], scores["s3", "loose_shrink"]
    assert (strict["rate"], strict["positive"]) == (1 / 9, 1 / 9)
    assert (shrink["rate"], shrink["negative"]) == (1 / 9, 0)
    assert scores["s3", "strict_shrink"]["positive"] == 1 / 9
    assert ("s3", "label_change_shift") not in scores
    # These labels change without becoming correct.
    changing = rates_of(records, [False] * len(records), range(len(records)))
    label = changing["s3", "label_change_shift"]
    assert (changing["s3", "loose_shift"]["rate"], label["rate"], label["negative"]) == (0, 1, 1)
    # A region without neighbours is excluded from shifts.
    records = exhaustive_regions("a", 5, [5])
    full_scores = rates_of(records, [r.anchor for r in records], range(len(records)))
    assert set(full_scores) == {("s5", "loose_shrink"), ("s5", "strict_shrink")}
    assert (full_scores["s5", "strict_shrink"]["rate"], full_scores["s5", "strict_shrink"]["anchors"]) == (1, 1)


def test_images_have_equal_weight_and_minimal_images():
    records = exhaustive_regions("a", 5, [3]) + exhaustive_regions("b", 9, [3])
    correct = [r.source == "a" and (r.y, r.x, r.side) in ((0, 0, 3), (2, 2, 3)) for r in records]
    scores = measure_fragile(dataset_of(records), clean(correct))
    shift = rates_in(scores)["s3", "loose_shift"]
    # Two corners of one image are correct with a wrong neighbour, and none in the other image, so the mean is one.
    assert (shift["anchors"], shift["rate"], shift["minimal"]) == (9 + 49, pytest.approx((7 / 9 + 0) / 2), 1)
    assert [row for row in scores.images.rows if row[2] == "loose shift"] == [
        ["a", "s3", "loose shift", 9, 2, 5],
        ["b", "s3", "loose shift", 49, 0, 0],
    ]
    assert scores.images.csv().startswith("image,regions,change,anchors,minimal,wrong and fragile\n")
    groups = [region_record("a", side, 0, 0, group=group) for side, group in [(9, "p80"), (75, "p5"), (3, "p20")]]
    groups += [region_record("a", side, 0, 1, group=group) for side, group in [(9, "p80"), (75, "p5"), (3, "p20")]]
    in_order = dict.fromkeys(group for group, _ in rates_of(groups, [True] * 6, kind="embed"))
    assert list(in_order) == ["p5", "p20", "p80"]


def test_top_five_is_used_from_a_thousand_classes():
    records = exhaustive_regions("a", 6, [3])
    incorrect = np.zeros(len(records), bool)
    every_other = np.arange(len(records)) % 2 == 0
    for classes, top5, fragile in [(999, every_other, 0), (1000, every_other, 1), (1000, None, 0)]:
        scores = measure_fragile(dataset_of(records, classes=classes), {"clean": Outcome(incorrect, top5)})
        assert scores.scores["fragile.s3.loose_shift"].value == fragile
        assert ("five most likely" if fragile else "most likely class is the true one") in scores.notes[0]


def test_fragile_scores_have_notes_and_estimates():
    records = exhaustive_regions("a", 6, [3]) + exhaustive_regions("b", 6, [3])
    correct = np.random.default_rng(0).random(len(records)) < 0.5
    for mode in ("sampled", "exhaustive"):
        scores = measure_fragile(dataset_of(records, mode=mode), clean(correct), 5)
        assert any("estimates" in note for note in scores.notes) == (mode == "sampled")
    parts = ("", ".positive", ".negative", ".minimal")
    assert set(scores.scores) == {f"fragile.s3.{name}{part}" for name in RATES[:4] for part in parts}
    one = measure_fragile(dataset_of(records[:52]), clean(correct[:52])).scores["fragile.s3.loose_shift"]
    assert (one.interval, one.reason) == (None, "one image has no interval")


def test_unsuitable_predictions_and_regions_are_rejected(tmp_path):
    records = exhaustive_regions("a", 6, [3])
    remaining = [r for r in records if (r.side, r.y, r.x) != (1, 0, 1)]
    for regions, count, error, message in (
        (records, 3, PredictionError, "3 predictions for 52 samples, 52 of them regions"),
        (remaining, 51, VerificationError, "2 anchors lack shrunk regions"),
        (exhaustive_regions("a", 6, [4], shrunk=False), 9, VerificationError, "9 anchors lack shrunk regions"),
        ([*records, records[0]], 53, VerificationError, "occurs twice in the samples"),
    ):
        with pytest.raises(error, match=message):
            rates_of(regions, [True] * count)
    scores = measure_fragile(dataset_of(records), {"fog/1": clean([True] * 52)["clean"]})
    assert (scores.scores, len(scores.notes)) == ({}, 1)
    plain_dataset = record_datasets.small_dataset(tmp_path, "clean")
    scores = measure_fragile(plain_dataset, clean([True] * 20))
    assert (scores.scores, scores.notes) == ({}, [])


def test_region_table_is_scored_by_its_crops(tmp_path):
    source, recipe = write_rows(tmp_path, small_images(3)), write_recipe(tmp_path, SAMPLED)
    table, stored = (
        corruptset.open(corruptset.build(recipe, source, tmp_path / store, jobs=1, metrics=0, store=store).directory)
        for store in ("table", "images")
    )
    rng = np.random.default_rng(6)
    correct, predicted = rng.random(len(stored.samples)) < 0.5, rng.integers(0, 3, len(stored.samples))
    check(stored, correct, predicted)
    expected = measure_fragile(stored, clean(correct, predicted), 3)
    of_image = {}
    for s in stored.samples:
        of_image.setdefault(s.region.source, []).append(s.index)
    outcomes = {name: clean(correct[rows], predicted[rows])["clean"] for name, rows in of_image.items()}
    for data in (table, stored):
        result = crop_scores(data, outcomes, 3)
        assert (result.scores, set(result.notes)) == (expected.scores, set(expected.notes))
    full_scores = measure_fragile(table, clean([True] * 3))
    assert full_scores.scores == {}
    assert "crop_scores" in full_scores.notes[0]
    first = next(iter(outcomes))
    for outcome_of, message in (
        ({first: clean([True] * 2)["clean"]}, rf"2 predictions for the \d+ crops of the image '{first}'"),
        ({}, "There are no predictions"),
    ):
        with pytest.raises(PredictionError, match=message):
            crop_scores(table, outcome_of)
