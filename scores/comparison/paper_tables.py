"""Make the tables of a comparison. Their rows and columns follow the papers that define the scores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import Any

from ..published import EXTRA, FAMILIES, FIFTEEN
from ..records import SUMMARY, TITLES, Interval, Scores
from ..score_values import score_column
from ..tables import Cell, Column, Kind, Table, columns, with_ends
from .entries import CV, MEAN_ACCURACY, Entry, ReferencePoint, point_of
from .figures import MEANS, Curves, profiles_of
from .statistics import Difference, pearson, quadrant, spearman

SINGLE = (*FIFTEEN, *EXTRA)
THRESHOLDS = {"0.9": 90, "0.5": 50, "0.1": 10}
MODEL = columns("text", "model")


def tables(entries: Sequence[Entry], reference: ReferencePoint | None, found: Sequence[Difference]) -> list[Table]:
    """Return all tables for which at least one model has scores.

    `found` contains the differences between models.
    """
    named = partial(by_model, entries)
    baselines = dict.fromkeys(e.scores.baseline for e in entries if e.scores.baseline is not None)
    relative = f"by corruption, relative to {' or '.join(baselines)}"
    made = [
        _summary(entries),
        # The tables by corruption have the layout of table 1 in Hendrycks & Dietterich 2018 and of tables 1 and 3 in
        # Hendrycks & Dietterich 2019.
        _of_fifteen(entries, "aude", "AUDE by corruption", ["maude", "relative_maude"]),
        named("aude_others", "AUDE of other curves", columns("text", "curve"), _other_curves),
        _of_fifteen(entries, "ce", f"CE {relative}", ["mce"]),
        _of_fifteen(entries, "relative_ce", f"Relative CE {relative}", ["relative_mce"]),
        named("families", "Mean accuracy by family of corruptions", columns("text", "family"), _families),
        named(
            "worst_case",
            "Worst case: images classified correctly on every set of a group",
            columns("text", "correct on every set of"),
            _groups_of_sets("worst_case"),
        ),
        named(
            "greatest_loss",
            "Greatest loss within the radius of an attack, mean over images",
            columns("text", "greatest loss on the sets of"),
            _groups_of_sets("greatest_loss"),
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
        _correlations(entries),
        _order_effects(entries),
        named("fragile", "Fragile rates", columns("text", "regions", "change"), _fragile_rates),
        _fragile_parts(entries),
        named("style", "Accuracy by group of samples", columns("text", "group"), lambda s: s.values("style")),
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
    """Return a table with a row per key of the mappings that `get` returns, and a column per model. Means come last."""
    values = [{key if isinstance(key, tuple) else (key,): cell for key, cell in get(e.scores).items()} for e in entries]
    keys = sorted(dict.fromkeys(key for own in values for key in own), key=lambda key: key[0] in MEANS)
    rows = [[*key, *(own.get(key) for own in values)] for key in keys]
    return Table(name, title, [*heads, *columns(kind, *(e.label for e in entries))], rows)


def curve_table(entries: Sequence[Entry], curves: Curves) -> Table:
    """Return a table of the numbers in charts, with a row per chart and position on its x axis."""
    heads = [*columns("text", curves.subject), *columns("whole", curves.x_name)]
    return by_model(entries, curves.table, curves.title, heads, curves.values, curves.kind)


def sets_in_full(entries: Sequence[Entry]) -> Table:
    """Return a table of all scores of each set and model."""
    rows = [[row["set"], e.label, *list(row.values())[1:]] for e in entries for row in e.scores.rows()]
    order = {name: place for place, name in enumerate(dict.fromkeys(row[0] for row in rows))}
    heads = [*columns("text", "set", "model"), *columns("whole", "images"), *with_ends(Column("accuracy"))]
    heads += [Column("top-5 accuracy"), Column("rank of the true class", "number")]
    # The order of `rows` is n, accuracy, top5, rank, probability, low, high.
    cells = [[*row[:4], *row[7:], *row[4:7]] for row in sorted(rows, key=lambda row: order[row[0]])]
    return Table("sets", "Every set and model in full", [*heads, Column("probability of the true class")], cells)


def _other_curves(scores: Scores) -> dict[str, float]:
    return {name: area for name, area in scores.values("aude").items() if name not in SINGLE}


def _families(scores: Scores) -> dict[str, float]:
    means = scores.values("mean_accuracy")
    return {family: means[family] for family in FAMILIES if family in means}


def _groups_of_sets(name: str) -> Callable[[Scores], dict[str, float]]:
    """Return a function that takes scores and returns the values of a score by group of sets.

    The names of the groups include the number of sets.
    """

    def get(scores: Scores) -> dict[str, float]:
        found = {}
        for group, one in scores.group(name).items():
            if one.value is not None:
                found[f"all {one.count} test sets" if group == "all" else f"{group} ({one.count} sets)"] = one.value
        return found

    return get


def _summary(entries: Sequence[Entry]) -> Table:
    """Return the table of scores of whole datasets with their confidence intervals, and notes on missing scores."""
    shown = [name for name in SUMMARY if any(s.name == name for e in entries for s in e.scores.scores)]
    rows, notes = list[list[Cell]](), list[str]()
    for e in entries:
        row: list[Cell] = [e.label]
        for name in shown:
            row += [e.scores.get(name), *_ends(e.scores.interval(name))]
        rows.append(row)
        notes += [f"{s.title} of {e.label}: {s.reason}." for s in e.scores.summary() if s.reason is not None]
    title = "Scores of the whole dataset, with 95 % confidence intervals from the bootstrap"
    return Table("summary", title, [*MODEL, *with_ends(*map(score_column, shown))], rows, notes)


def _of_fifteen(entries: Sequence[Entry], group: str, title: str, means: Sequence[str]) -> Table:
    """Return a table with a row per model: the clean error, the means, and the scores of single corruptions."""
    of_model = [e.scores.values(group) for e in entries]
    shown = [c for c in SINGLE if any(c in own for own in of_model)]
    rows = list[list[Cell]]()
    for e, own in zip(entries, of_model, strict=True) if shown else ():
        clean = e.scores.get("clean_accuracy")
        row: list[Cell] = [e.label, None if clean is None else 1 - clean]
        rows.append([*row, *map(e.scores.get, means), *map(own.get, shown)])
    heads = columns("percent", "clean error", *(TITLES[name] for name in means), *shown)
    return Table(group, title, [*MODEL, *heads], rows)


def _first_below(scores: Scores) -> dict[tuple[str, int], Cell]:
    """Return the levels at which the accuracy is first below the thresholds of Swingler 2022."""
    return {
        (name, percent): "never" if (below := profile.first_below.get(threshold)) is None else below.level
        for name, profile in profiles_of(scores).items()
        for threshold, percent in THRESHOLDS.items()
    }


def _changes(entries: Sequence[Entry]) -> Table:
    """Return a table that describes the levels found by `_first_below`."""
    found: dict[tuple[str, int], list[Cell]] = {
        (name, below.level): [name, below.level, below.changed, below.change]
        for e in entries
        for name, profile in e.scores.profiles.items()
        for below in profile.first_below.values()
        if below is not None
    }
    heads = [Column("degradation", "text"), Column("level", "whole"), Column("pixels changed")]
    heads += columns("text", "effect of the level")
    return Table(
        "degradation_levels", "Effect of these levels on an image", heads, [found[key] for key in sorted(found)]
    )


def _two_factor(entries: Sequence[Entry], reference: ReferencePoint | None) -> Table:
    """Return a table of the mean accuracy and its variation over sets, as in Dai & Berleant 2021."""
    heads = [*MODEL, Column("clean accuracy"), Column("names", "whole")]
    heads += with_ends(Column("mean accuracy"), Column("CV %", "number"))
    heads += [Column("sets", "whole"), Column("mean accuracy of sets"), Column("CV % of sets", "number")]
    rows: list[list[Cell]] = []
    for s, label in ((e.scores, e.label) for e in entries if e.scores.get(MEAN_ACCURACY) is not None):
        counts = {name: one.count for name, one in s.group("two_factor").items()}
        row: list[Cell] = [label, s.get("clean_accuracy"), counts["mean_accuracy"]]
        row += [s.get(MEAN_ACCURACY), *_ends(s.interval(MEAN_ACCURACY)), s.get(CV), *_ends(s.interval(CV))]
        row.append(counts.get("distinct_mean_accuracy"))
        row += [s.get("two_factor.distinct_mean_accuracy"), s.get("two_factor.distinct_cv_percent")]
        point = point_of(s)
        rows.append([*row, quadrant(*point, reference[:2]) if point and reference else None])
    if reference is not None:
        empty = [None, None, reference.accuracy, None, None, reference.cv_percent, *[None] * 6]
        rows.append(["reference point", *empty])
    words = "mean of the models" if reference is None else reference.words
    notes = [
        f"The reference point is: {words}. Quadrant I has high accuracy and low CV, II has both high, III has both "
        "low, and IV has low accuracy and high CV."
    ]
    title = "Mean accuracy and its coefficient of variation over two-factor sets"
    return Table("two_factor", title, [*heads, *columns("text", "quadrant")], rows, notes)


def _correlations(entries: Sequence[Entry]) -> Table:
    """Return a table of correlations between two-factor scores across the models."""
    shown = [e.scores for e in entries if e.scores.get(MEAN_ACCURACY) is not None]
    names = {"CV": CV, "mean accuracy": MEAN_ACCURACY, "clean accuracy": "clean_accuracy"}
    rows: list[list[Cell]] = []
    for first, second in combinations(names, 2) if shown else ():
        both = [(s.get(names[first]), s.get(names[second])) for s in shown]
        pairs = [(a, b) for a, b in both if a is not None and b is not None]
        x, y = ([pair[place] for pair in pairs] for place in (0, 1))
        rows.append([first, second, len(pairs), pearson(x, y), spearman(x, y)])
    heads = [*columns("text", "score", "and"), *columns("whole", "models"), *columns("number", "Pearson", "Spearman")]
    notes = ["A correlation needs at least three models whose scores are not all equal."]
    return Table("correlations", "Correlations over models", heads, rows, notes)


def _order_effects(entries: Sequence[Entry]) -> Table:
    """Return a table of the accuracy on stage A followed by B, minus the accuracy on B followed by A."""
    values = [
        {(o.first, o.second): [o.difference, *_ends(o.interval)] for o in e.scores.order_effects} for e in entries
    ]
    keys = dict.fromkeys(key for own in values for key in own)
    rows = [[*key, *(cell for own in values for cell in own.get(key, [None] * 3))] for key in keys]
    heads = columns("text", "first order", "second order")
    heads += with_ends(*columns("points", *(e.label for e in entries)))
    return Table("order_effects", "Accuracy on the first order minus that on the second", heads, rows)


def _fragile_rates(scores: Scores) -> dict[tuple[str, str], float]:
    """Return the fragile rates by the size of the regions and the change, as in Srivastava, Ben-Yosef & Boix 2019."""
    rates = scores.values("fragile")
    keys = {name: name.split(".") for name in rates if name.count(".") == 1}
    return {(group, kind.replace("_", " ")): rates[name] for name, (group, kind) in keys.items()}


def _fragile_parts(entries: Sequence[Entry]) -> Table:
    """Return a table of the fragile rates with their intervals and parts."""
    rows: list[list[Cell]] = []
    for e in entries:
        parts = e.scores.group("fragile")
        for name, rate in parts.items():
            if name.count(".") == 1:
                group, kind = name.split(".")
                more = [parts[f"{name}.{part}"].value for part in ("positive", "negative", "minimal")]
                row: list[Cell] = [e.label, group, kind.replace("_", " "), rate.value, *_ends(rate.interval)]
                rows.append([*row, *more, rate.count])
    heads = columns("text", "model", "regions", "change")
    heads += [Column("rate"), Column("low", end="low"), Column("high", end="high")]
    heads += columns("percent", "positive", "negative") + columns("number", "minimal images")
    title = "Fragile rates of correct (positive) and wrong (negative) regions"
    return Table("fragile_parts", title, [*heads, *columns("whole", "anchors")], rows)


def _differences(found: Iterable[Difference]) -> Table:
    """Return a table of the differences between models."""
    heads = [*columns("text", "score", "model", "minus"), Column("difference", "points")]
    heads += [Column("low", "points", "low"), Column("high", "points", "high"), Column("exceeds", "text")]
    words = {None: "no interval", True: "yes", False: "no"}
    rows: list[list[Cell]] = [
        [d.score, d.first, d.second, d.difference, d.low, d.high, words[d.exceeds]] for d in found
    ]
    note = (
        "The columns low and high are the ends of 95 % confidence intervals from paired bootstrap resamples. A "
        "difference exceeds its interval if the interval does not contain 0. One point is 0.01, even for the RB-index."
    )
    return Table("differences", "Differences between models", heads, rows, [note])


def _ends(interval: Interval) -> tuple[float | None, float | None]:
    return interval or (None, None)
