"""Fragile rates against a slow version, on records by hand and on builds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from slow_fragile import data_of, exhaustive, region, slow_flips, slow_images, slow_interval, slow_rates
from slow_regions import SAMPLED, small_images, write_recipe, write_rows

import corruptset
from corruptset.errors import PredictionError, VerificationError
from corruptset.scores.fragile import RATES, crop_scores, measure_fragile
from corruptset.scores.outcomes import Outcome
from corruptset.scores.records import Fragile


def outcome_of(right: Any, predicted: Any = None, **more: Any) -> Outcome:
    return Outcome(
        np.array(right, bool), predicted=None if predicted is None else np.array(predicted, np.int32), **more
    )


def groups_of(data: Any, outcomes: dict[str, Outcome], seed: int = 0) -> dict[str, Fragile]:
    return measure_fragile(data, outcomes, seed).groups


def check(data: Any, right: Any, predicted: Any, *, shrunk: bool = True, seed: int = 0) -> None:
    """Hold the scores of a data set to the slow version's."""
    records = [s.region for s in data.samples]
    rows = slow_flips(records, right, predicted, shrunk)
    sources = list(dict.fromkeys(r.source for r in records))
    found = groups_of(data, {"clean": outcome_of(right, predicted)}, seed)
    assert set(found) == {r.group for r in records}
    for group, scores in found.items():
        for name in RATES:
            wanted, got = slow_rates(rows, group, name), getattr(scores, name)
            if wanted is None:
                assert got is None
                continue
            assert {key: getattr(got, key) for key in wanted} == pytest.approx(wanted, abs=1e-12)
            of_image = slow_images(rows, group, name)
            images = [of_image[s][0] if s in of_image else None for s in sources]
            if len(sources) > 1:
                assert got.interval == pytest.approx(slow_interval(images, seed), abs=1e-6)
            else:
                assert got.interval is None


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_rates_of_random_outcomes(data):
    # side 5's shrunk regions are anchors of side 3
    sides = data.draw(st.sampled_from([[3], [5], [3, 5], [4, 6], [7]]))
    sizes = data.draw(st.lists(st.integers(7, 9), min_size=1, max_size=3))
    records = [r for i, size in enumerate(sizes) for r in exhaustive(f"im/{i}", size, sides)]
    order = data.draw(st.permutations(range(len(records)))) if data.draw(st.booleans()) else range(len(records))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    right = rng.random(len(records)) < data.draw(st.sampled_from([0.02, 0.5, 0.9]))
    check(
        data_of([records[i] for i in order]), right, rng.integers(0, 3, len(records)), seed=data.draw(st.integers(0, 3))
    )


def test_regions_that_lack_others():
    # embedded images have no shrunk regions though sides are two apart
    records = [r for side in (10, 12) for r in exhaustive("a", 14, [side], shrunk=False)]
    right = [r.side == 12 for r in records]
    check(data_of(records, kind="embed"), right, right, shrunk=False)
    # an image without a group counts in the others
    records = exhaustive("a", 8, [3]) + exhaustive("b", 8, [5]) + exhaustive("c", 8, [3])
    rng = np.random.default_rng(3)
    check(data_of(records), rng.random(len(records)) < 0.5, rng.integers(0, 2, len(records)))
    # regions of different images are no neighbours
    records = [region("a", 3, 0, 0), region("b", 3, 0, 1), region("b", 3, 1, 0)]
    found = groups_of(data_of(records, kind="embed"), {"clean": outcome_of([True, False, False])})["s3"]
    assert (found.loose_shift.anchors, found.loose_shift.rate) == (2, 0)
    # nor are the last of a row and the first of the next
    records = [region("a", 3, 0, 2), region("a", 3, 1, 0)]
    found = groups_of(data_of(records, kind="embed"), {"clean": outcome_of([True, False])})["s3"]
    assert found.loose_shift is None


def test_the_published_definition_by_hand():
    # 3x3 positions of side 3 in an image of 5x5, the middle alone is right; the shrunk ones are all wrong
    records = exhaustive("a", 5, [3])
    right = [r.anchor and (r.y, r.x) == (1, 1) for r in records]
    scores = groups_of(data_of(records), {"clean": outcome_of(right)})["s3"]
    loose = {"rate": 1, "positive": 1 / 9, "negative": 8 / 9, "minimal": 1, "interval": None, "anchors": 9}
    assert scores.loose_shift.model_dump() == loose
    # a corner has three neighbours; of none but the middle do all differ
    assert (scores.strict_shift.rate, scores.strict_shift.positive) == (1 / 9, 1 / 9)
    assert (scores.loose_shrink.rate, scores.loose_shrink.negative) == (1 / 9, 0)
    assert scores.strict_shrink.positive == 1 / 9
    assert scores.label_change_shift is None
    # labels that change without becoming right
    changing = groups_of(data_of(records), {"clean": outcome_of([False] * len(records), range(len(records)))})["s3"]
    assert (changing.loose_shift.rate, changing.label_change_shift.rate, changing.label_change_shift.negative) == (
        0, 1, 1,
    )  # fmt: skip
    for always in (True, False):
        found = groups_of(data_of(records), {"clean": outcome_of([always] * len(records), [7] * len(records))})["s3"]
        assert {(r.rate, r.positive, r.negative, r.minimal) for _, r in found} == {(0, 0, 0, 0)}
    # a region without neighbours counts in no shift
    records = exhaustive("a", 5, [5])
    whole = groups_of(data_of(records), {"clean": outcome_of([r.anchor for r in records], range(len(records)))})["s5"]
    assert whole.loose_shift is whole.strict_shift is whole.label_change_shift is None
    assert (whole.strict_shrink.rate, whole.strict_shrink.anchors) == (1, 1)


def test_images_count_alike_and_have_their_minimal_images():
    records = exhaustive("a", 5, [3]) + exhaustive("b", 9, [3])
    right = [r.source == "a" and (r.y, r.x, r.side) in ((0, 0, 3), (2, 2, 3)) for r in records]
    found = measure_fragile(data_of(records), {"clean": outcome_of(right)})
    shift = found.groups["s3"].loose_shift
    assert (shift.anchors, shift.rate) == (9 + 49, pytest.approx((7 / 9 + 0) / 2))
    # two corners that are right while a neighbour is wrong, and none in the other image: one on average
    assert shift.minimal == 1
    assert [row for row in found.images.rows if row[2] == "loose shift"] == [
        ["a", "s3", "loose shift", 9, 2, 5],
        ["b", "s3", "loose shift", 49, 0, 0],
    ]
    assert found.images.csv().startswith("image,regions,change,anchors,minimal,wrong and fragile\n")
    groups = [region("a", side, 0, 0, group=group) for side, group in [(9, "p80"), (75, "p5"), (3, "p20")]]
    assert list(groups_of(data_of(groups, kind="embed"), {"clean": outcome_of([True] * 3)})) == ["p5", "p20", "p80"]


def test_five_most_likely_classes_count_from_a_thousand_classes_on():
    records = exhaustive("a", 6, [3])
    outcome = Outcome(np.zeros(len(records), bool), top5=np.arange(len(records)) % 2 == 0)
    for classes, fragile in [(999, 0), (1000, 1)]:
        found = measure_fragile(data_of(records, classes=classes), {"clean": outcome})
        assert found.groups["s3"].loose_shift.rate == fragile
        assert ("five most likely" in found.notes[0]) == fragile
    without = measure_fragile(data_of(records, classes=1000), {"clean": outcome_of([True] * len(records))})
    assert "most likely class is true" in without.notes[0]


def test_notes_and_estimates():
    records = exhaustive("a", 6, [3]) + exhaustive("b", 6, [3])
    right = np.random.default_rng(0).random(len(records)) < 0.5
    found = measure_fragile(data_of(records, mode="sampled"), {"clean": outcome_of(right)}, 5)
    assert any("estimates" in note for note in found.notes)
    assert not any(
        "estimates" in note for note in measure_fragile(data_of(records), {"clean": outcome_of(right)}).notes
    )
    assert set(found.estimates) == {f"fragile.s3.{name}" for name in RATES[:4]}
    rate, *values = found.estimates["fragile.s3.loose_shift"]
    assert rate == found.groups["s3"].loose_shift.rate
    assert len(values) == 1000
    assert found.groups["s3"].loose_shift.interval == pytest.approx(np.quantile(values, [0.025, 0.975]))
    one = measure_fragile(data_of(records[: len(records) // 2]), {"clean": outcome_of(right[: len(records) // 2])})
    assert np.isnan(one.estimates["fragile.s3.loose_shift"][1:]).all()
    assert one.groups["s3"].loose_shift.interval is None
    assert any("no rate has an interval" in note for note in one.notes)


def test_predictions_that_do_not_fit():
    records = exhaustive("a", 6, [3])
    with pytest.raises(PredictionError, match=r"3 predictions of 52 samples, 52 of them regions"):
        groups_of(data_of(records), {"clean": outcome_of([True] * 3)})
    found = measure_fragile(data_of(records), {"fog/1": outcome_of([True] * 52)})
    assert (found.groups, len(found.notes)) == ({}, 1)
    left = [r for r in records if (r.side, r.y, r.x) != (1, 0, 1)]
    with pytest.raises(VerificationError, match="2 anchors lack shrunk regions"):
        groups_of(data_of(left), {"clean": outcome_of([True] * len(left))})
    with pytest.raises(VerificationError, match="9 anchors lack shrunk regions"):
        groups_of(data_of(exhaustive("a", 6, [4], shrunk=False)), {"clean": outcome_of([True] * 9)})
    with pytest.raises(VerificationError, match="a sample twice"):
        groups_of(data_of([*records, records[0]]), {"clean": outcome_of([True] * 53)})


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_rows(tmp_path_factory.mktemp("rows"), small_images(3))


def built(recipe: Any, source: str, out: Path, **options: Any) -> Any:
    made = corruptset.build(recipe, source, out, jobs=1, metrics=0, **({"store": "images"} | options))
    return corruptset.open(made.directory)


def test_a_table_of_regions_is_scored_by_its_crops(images, tmp_path):
    recipe = write_recipe(tmp_path, SAMPLED)
    table, stored = (built(recipe, images, tmp_path / store, store=store) for store in ("table", "images"))
    rng = np.random.default_rng(6)
    right, predicted = rng.random(len(stored.samples)) < 0.5, rng.integers(0, 3, len(stored.samples))
    check(stored, right, predicted)
    wanted = measure_fragile(stored, {"clean": outcome_of(right, predicted)}, 3)
    of_image: dict[str, list[int]] = {}
    for s in stored.samples:
        of_image.setdefault(s.region.source, []).append(s.index)
    outcomes = {name: outcome_of(right[rows], predicted[rows]) for name, rows in of_image.items()}
    for data in (table, stored):
        found = crop_scores(data, outcomes, 3)
        assert found.groups == wanted.groups
        assert set(found.notes) == set(wanted.notes)
    whole = measure_fragile(table, {"clean": outcome_of([True] * 3)})
    assert whole.groups == {}
    assert "crop_scores" in whole.notes[0]
    first = next(iter(outcomes))
    with pytest.raises(PredictionError, match=rf"2 predictions of the \d+ crops of the image '{first}'"):
        crop_scores(table, {first: outcome_of([True] * 2)})
    with pytest.raises(PredictionError, match="no predictions of any image"):
        crop_scores(table, {})


def test_a_data_set_without_regions_has_no_rates(shared):
    data = corruptset.open(shared.build(sets=["clean"]))
    found = measure_fragile(data, {"clean": outcome_of([True] * len(data.samples))})
    assert (found.groups, found.notes, found.estimates) == ({}, [], {})
