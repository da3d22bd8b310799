"""The tables of a comparison, laid out as those of the papers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import Any

from ..published import EXTRA, FIFTEEN
from ..records import SUMMARY, FragileRate, Interval, Scores, TwoFactor
from ..tables import Cell, Column, Kind, Table, columns, with_ends
from .entries import Entry, ReferencePoint
from .figures import MEANS, Course, profiles_of
from .statistics import Difference, pearson, quadrant, spearman

SINGLE = (*FIFTEEN, *EXTRA)
THRESHOLDS = {"0.9": 90, "0.5": 50, "0.1": 10}
MODEL = columns("text", "model")


def tables(entries: Sequence[Entry], reference: ReferencePoint | None, found: Sequence[Difference]) -> list[Table]:
    """Return all tables that models have scores for."""

    named = partial(by_model, entries)
    baselines = dict.fromkeys(e.scores.baseline for e in entries if e.scores.baseline is not None)
    relative = f"by corruption, relative to {' or '.join(baselines)}"
    made = [
        _summary(entries),
        # laid out as table 1 of Hendrycks & Dietterich 2018, and as that of 2019
        _of_fifteen(entries, "aude", "AUDE by corruption", {"mAUDE": "maude", "relative mAUDE": "relative_maude"}),
        named("aude_others", "AUDE of other curves", columns("text", "curve"), _other_curves),
        _of_fifteen(entries, "ce", f"CE {relative}", {"mCE": "mce"}),
        _of_fifteen(entries, "relative_ce", f"relative CE {relative}", {"relative mCE": "relative_mce"}),
        named("families", "Mean accuracy by family of corruptions", columns("text", "family"), lambda s: s.families),
        named("worst_case", "Images right under every set", columns("text", "over the sets of"), _worst_cases("share")),
        named(
            "greatest_loss",
            "Greatest loss within a radius, mean over images",
            columns("text", "within"),
            _worst_cases("loss"),
            "number",
        ),
        named(
            "accuracy",
            "Accuracy by set",
            columns("text", "set"),
            lambda s: {name: one.accuracy for name, one in s.sets.items()},
        ),
        named(
            "degradation",
            "First level at which the accuracy is below a threshold",
            [*columns("text", "degradation"), *columns("whole", "accuracy below %")],
            _first_below,
            "whole",
        ),
        _changes(entries),
        _two_factor(entries, reference),
        _correlations([(t, e.scores.clean) for e in entries if (t := e.scores.two_factor) is not None]),
        _order_effects(entries),
        named(
            "fragile",
            "Fragile rates",
            columns("text", "regions", "change"),
            lambda s: {key: rate.rate for key, rate in _rates(s).items()},
        ),
        _fragile_parts(entries),
        named("style", "Accuracy by group of samples", columns("text", "group"), lambda s: s.style),
        _differences(found),
    ]
    return [table for table in made if table.rows]


def by_model(
    entries: Sequence[Entry],
    name: str,
    title: str,
    heads: Sequence[Column],
    get: Callable[[Scores], Mapping[Any, Cell]],
    kind: Kind = "percent",
) -> Table:
    """Return a row for each key and a column for each model; means stand last."""
    values = [{key if isinstance(key, tuple) else (key,): cell for key, cell in get(e.scores).items()} for e in entries]
    keys = sorted(dict.fromkeys(key for own in values for key in own), key=lambda key: key[0] in MEANS)
    rows = [[*key, *(own.get(key) for own in values)] for key in keys]
    return Table(name, title, [*heads, *columns(kind, *(e.label for e in entries))], rows)


def of_course(entries: Sequence[Entry], course: Course) -> Table:
    """Return the numbers of charts: a row a chart and place on its x axis."""
    heads = [*columns("text", course.of), *columns("whole", course.x_name)]
    return by_model(entries, course.table, course.title, heads, course.values, course.kind)


def sets_in_full(entries: Sequence[Entry]) -> Table:
    """Return a row for each set and model, with all that scores have of it."""
    rows = [[row["set"], e.label, *list(row.values())[1:]] for e in entries for row in e.scores.rows()]
    order = {name: place for place, name in enumerate(dict.fromkeys(row[0] for row in rows))}
    heads = [*columns("text", "set", "model"), *columns("whole", "images"), *with_ends(Column("accuracy"))]
    heads += [Column("top-5 accuracy"), Column("rank of the true class", "number")]
    # as `rows` has them: n, accuracy, top5, rank, probability, low, high
    cells = [[*row[:4], *row[7:], *row[4:7]] for row in sorted(rows, key=lambda row: order[row[0]])]
    return Table("sets", "Every set and model in full", [*heads, Column("probability of the true class")], cells)


def _other_curves(scores: Scores) -> dict[str, float]:
    return {name: area for name, area in scores.aude.items() if name not in SINGLE}


def _worst_cases(field: str) -> Callable[[Scores], dict[str, float]]:
    """Return what gets a field of the worst case over the sets that have it."""
    return lambda s: {n: value for n, one in s.worst_case.items() if (value := getattr(one, field)) is not None}


def _summary(entries: Sequence[Entry]) -> Table:
    """Return the scores that are one number each, with their intervals."""
    points = [e.scores.numbers() for e in entries]
    there = {name: column for name, column in SUMMARY.items() if any(name in own for own in points)}
    rows = [
        [e.label, *(cell for name in there for cell in (own.get(name), *_ends(e.scores.intervals.get(name))))]
        for e, own in zip(entries, points, strict=True)
    ]
    title = "Scores that are one number, with intervals of 95 % over resamples of the images"
    return Table("summary", title, [*MODEL, *with_ends(*there.values())], rows)


def _of_fifteen(entries: Sequence[Entry], name: str, title: str, means: Mapping[str, str]) -> Table:
    """Return a row a model: clean error, means, the fifteen corruptions, the extra four."""
    there = [c for c in SINGLE if any(c in getattr(e.scores, name) for e in entries)]
    rows: list[list[Cell]] = [
        [e.label, None if e.scores.clean is None else 1 - e.scores.clean]
        + [getattr(e.scores, mean) for mean in means.values()]
        + [getattr(e.scores, name).get(corruption) for corruption in there]
        for e in entries
        if there
    ]
    return Table(name, title, [*MODEL, *columns("percent", "clean error", *means, *there)], rows)


def _first_below(scores: Scores) -> dict[tuple[str, int], Cell]:
    """Return the level at which the accuracy first falls below thresholds (Swingler 2022)."""
    return {
        (name, share): "never" if (below := profile.first_below.get(threshold)) is None else below.level
        for name, profile in profiles_of(scores).items()
        for threshold, share in THRESHOLDS.items()
    }


def _changes(entries: Sequence[Entry]) -> Table:
    """Return what those levels do to an image."""
    found: dict[tuple[str, int], list[Cell]] = {
        (name, below.level): [name, below.level, below.changed, below.change]
        for e in entries
        for name, profile in e.scores.profiles.items()
        for below in profile.first_below.values()
        if below is not None
    }
    heads = [Column("degradation", "text"), Column("level", "whole"), Column("pixels changed")]
    heads += columns("text", "what the level does")
    return Table("degradation_levels", "What these levels do to an image", heads, [found[key] for key in sorted(found)])


def _two_factor(entries: Sequence[Entry], reference: ReferencePoint | None) -> Table:
    """Return accuracy and its variation over sets (Dai & Berleant 2021)."""
    heads = [*MODEL, Column("clean accuracy"), Column("names", "whole")]
    heads += with_ends(Column("mean accuracy"), Column("CV %", "number"))
    heads += [Column("sets", "whole"), Column("mean accuracy of sets"), Column("CV % of sets", "number")]
    rows: list[list[Cell]] = []
    for e in entries:
        if (t := e.scores.two_factor) is not None:
            of_names = [t.mean_accuracy, *_ends(t.mean_accuracy_interval), t.cv_percent, *_ends(t.cv_percent_interval)]
            # not in printed tables
            of_sets = [t.distinct, t.distinct_mean_accuracy, t.distinct_cv_percent] if t.distinct else [None] * 3
            point = None if t.cv_percent is None else (t.cv_percent, t.mean_accuracy)
            where = quadrant(*point, reference[:2]) if point and reference else None
            rows.append([e.label, e.scores.clean, t.names or None, *of_names, *of_sets, where])
    if reference is not None:
        empty = [None, None, reference.accuracy, None, None, reference.cv_percent, *[None] * 6]
        rows.append(["reference point", *empty])
    words = "mean of the models" if reference is None else reference.words
    notes = [f"The reference point: {words}. I: high accuracy, low CV; II: high, high; III: low, low; IV: low, high."]
    title = "Mean accuracy and its coefficient of variation over two-factor sets"
    return Table("two_factor", title, [*heads, *columns("text", "quadrant")], rows, notes)


def _correlations(shown: Sequence[tuple[TwoFactor, float | None]]) -> Table:
    """Return correlations of two-factor scores over models, from these and the clean accuracy of each."""
    scores: dict[str, list[float | None]] = {
        "CV": [t.cv_percent for t, _ in shown],
        "mean accuracy": [t.mean_accuracy for t, _ in shown],
        "clean accuracy": [clean for _, clean in shown],
    }
    rows: list[list[Cell]] = []
    for first, second in combinations(scores, 2) if shown else ():
        both = zip(scores[first], scores[second], strict=True)
        pairs = [(a, b) for a, b in both if a is not None and b is not None]
        x, y = ([pair[place] for pair in pairs] for place in (0, 1))
        rows.append([first, second, len(pairs), pearson(x, y), spearman(x, y)])
    heads = [*columns("text", "score", "and"), *columns("whole", "models"), *columns("number", "Pearson", "Spearman")]
    notes = ["Of fewer than three models, or equal scores, there is none."]
    return Table("correlations", "Correlations over models", heads, rows, notes)


def _order_effects(entries: Sequence[Entry]) -> Table:
    """Return the accuracy of A then B less that of B then A."""
    effects = [[] if e.scores.two_factor is None else e.scores.two_factor.order_effects for e in entries]
    values = [{(o.first, o.second): [o.difference, *_ends(o.interval)] for o in own} for own in effects]
    keys = dict.fromkeys(key for own in values for key in own)
    rows = [[*key, *(cell for own in values for cell in own.get(key, [None] * 3))] for key in keys]
    heads = columns("text", "first order", "second order")
    heads += with_ends(*columns("points", *(e.label for e in entries)))
    return Table("order_effects", "Accuracy on the first order less that on the second", heads, rows)


def _rates(scores: Scores) -> dict[tuple[str, str], FragileRate]:
    """Return fragile rates by size and change (Srivastava, Ben-Yosef & Boix 2019)."""
    return {
        (group, kind.replace("_", " ")): rate
        for group, own in scores.fragile.items()
        for kind, rate in own
        if rate is not None
    }


def _fragile_parts(entries: Sequence[Entry]) -> Table:
    """Return fragile rates with intervals, positive and negative apart."""
    rows: list[list[Cell]] = [
        [e.label, *key, r.rate, *_ends(r.interval), r.positive, r.negative, r.minimal, r.anchors]
        for e in entries
        for key, r in _rates(e.scores).items()
    ]
    heads = columns("text", "model", "regions", "change")
    heads += [Column("rate"), Column("low", end="low"), Column("high", end="high")]
    heads += columns("percent", "positive", "negative") + columns("number", "minimal images")
    title = "Fragile rates, of right (positive) and wrong (negative) regions"
    return Table("fragile_parts", title, [*heads, *columns("whole", "anchors")], rows)


def _differences(found: Iterable[Difference]) -> Table:
    """Return the differences between models."""
    heads = [*columns("text", "score", "model", "less"), Column("difference", "points")]
    heads += [Column("low", "points", "low"), Column("high", "points", "high"), Column("exceeds", "text")]
    said = {None: "no interval", True: "yes", False: "no"}
    rows: list[list[Cell]] = [[d.score, d.first, d.second, d.difference, d.low, d.high, said[d.exceeds]] for d in found]
    note = (
        "A difference exceeds its interval of 95 % over paired resamples of the images where the interval does not "
        "have 0 in it. A point is .01, of the RB-index too."
    )
    return Table("differences", "Differences between models", heads, rows, [note])


def _ends(interval: Interval) -> tuple[float | None, float | None]:
    return interval or (None, None)
