"""Which tables a comparison has: those of the papers, each with the scores that its models have."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any, Literal

from ..published import EXTRA, FIFTEEN
from ..records import FragileRate, Interval, Scores
from .correlations import pearson, quadrant, spearman
from .differences import Difference, point_scores
from .entries import Entry, reference_of
from .figures import profile_names, profiles_of
from .tables import Cell, Column, Kind, Table, texts

MODEL = Column("model", "text")
ENDS: tuple[Literal["low", "high"], ...] = ("low", "high")
"""Of an interval."""


def tables(entries: Sequence[Entry], found: Sequence[Difference]) -> list[Table]:
    """Return all tables that models have scores for."""
    made = [
        summary(entries),
        # laid out as table 1 of Hendrycks & Dietterich 2018
        _of_fifteen(entries, "aude", "AUDE by corruption", {"mAUDE": "maude", "relative mAUDE": "relative_maude"}),
        _names("aude_others", "AUDE of other curves", "curve", entries, _other_curves),
        # laid out as table 1 of Hendrycks & Dietterich 2019
        _of_fifteen(entries, "ce", _named("CE", entries), {"mCE": "mce"}),
        _of_fifteen(entries, "relative_ce", _named("relative CE", entries), {"relative mCE": "relative_mce"}),
        _names("families", "Mean accuracy by family of corruptions", "family", entries, lambda s: s.families),
        _names(
            "worst_case",
            "Images right under every set",
            "over the sets of",
            entries,
            lambda s: {n: w.share for n, w in s.worst_case.items()},
        ),
        by_model(
            "greatest_loss",
            "Greatest loss within a radius, mean over images",
            [Column("within", "text")],
            entries,
            [{(n,): w.loss for n, w in e.scores.worst_case.items() if w.loss is not None} for e in entries],
            "number",
        ),
        _names("accuracy", "Accuracy by set", "set", entries, lambda s: {n: one.accuracy for n, one in s.sets.items()}),
        first_below(entries),
        changes(entries),
        two_factor(entries),
        correlations(entries),
        order_effects(entries),
        fragile(entries),
        fragile_parts(entries),
        _names("style", "Accuracy by group of samples", "group", entries, lambda s: s.style),
        differences_table(found),
    ]
    return [table for table in made if table.rows]


SUMMARY = {
    "clean_accuracy": Column("clean accuracy"),
    "mean_accuracy": Column("mean accuracy"),
    "maude": Column("mAUDE"),
    "relative_maude": Column("relative mAUDE"),
    "mce": Column("mCE"),
    "relative_mce": Column("relative mCE"),
    "two_factor.cv_percent": Column("CV %", "number"),
    "rb_index": Column("RB-index", "number"),
    "style_gap": Column("style gap"),
}


def summary(entries: Sequence[Entry]) -> Table:
    """Return the scores that are one number each, with their intervals."""
    points = [point_scores(e.scores) for e in entries]
    there = {name: column for name, column in SUMMARY.items() if any(name in own for own in points)}
    columns = [MODEL, *(one for column in there.values() for one in _with_ends(column))]
    rows = [
        [e.label, *(cell for name in there for cell in (own.get(name), *_ends(e.scores.intervals.get(name))))]
        for e, own in zip(entries, points, strict=True)
    ]
    return Table("summary", "Scores that are one number, with intervals of 95 % over resamples of the images", columns, rows)


def _named(title: str, entries: Sequence[Entry]) -> str:
    baselines = list(dict.fromkeys(e.scores.baseline for e in entries if e.scores.baseline is not None))
    return f"{title} by corruption, relative to {' or '.join(baselines)}"


def _of_fifteen(entries: Sequence[Entry], name: str, title: str, means: Mapping[str, str]) -> Table:
    """Return a row a model: clean error, means, and the fifteen corruptions and the extra four, as far as there are."""
    there = [c for c in (*FIFTEEN, *EXTRA) if any(c in getattr(e.scores, name) for e in entries)]
    columns = [MODEL, Column("clean error"), *map(Column, means), *map(Column, there)]
    rows: list[list[Cell]] = [
        [e.label, None if e.clean is None else 1 - e.clean, *(getattr(e.scores, mean) for mean in means.values())]
        + [getattr(e.scores, name).get(corruption) for corruption in there]
        for e in entries
        if there
    ]
    return Table(name, title, columns, rows)


def _other_curves(scores: Scores) -> Mapping[str, Cell]:
    """Return the AUDE of whatever else has five severities: other corruptions, and chains."""
    return {name: area for name, area in scores.aude.items() if name not in (*FIFTEEN, *EXTRA)}


def _names(name: str, title: str, of: str, entries: Sequence[Entry], get: Callable[[Scores], Mapping[str, Cell]]) -> Table:
    """Return a row a name, a column a model."""
    values = [{(row,): cell for row, cell in get(e.scores).items()} for e in entries]
    return by_model(name, title, [Column(of, "text")], entries, values)


def by_model(
    name: str,
    title: str,
    heads: Sequence[Column],
    entries: Sequence[Entry],
    values: Sequence[Mapping[Any, Cell]],
    kind: Kind = "percent",
    keys: Iterable[Any] | None = None,
) -> Table:
    """Return a row a key, which is the cells of `heads`, and a column a model; `values` are of each model by key."""
    rows = [
        [*key, *(own.get(key) for own in values)]
        for key in (keys if keys is not None else dict.fromkeys(key for own in values for key in own))
    ]
    return Table(name, title, [*heads, *(Column(e.label, kind) for e in entries)], rows)


def first_below(entries: Sequence[Entry]) -> Table:
    """Return the level at which the accuracy first falls below thresholds (Swingler 2022)."""
    thresholds = {"0.9": 90, "0.5": 50, "0.1": 10}
    levels: list[dict[tuple[str, int], Cell]] = [
        {
            (name, share): "never" if (below := profile.first_below.get(threshold)) is None else below.level
            for name, profile in profiles_of(e).items()
            for threshold, share in thresholds.items()
        }
        for e in entries
    ]
    keys = [(name, share) for name in profile_names(entries) for share in thresholds.values()]
    heads = [Column("degradation", "text"), Column("accuracy below %", "whole")]
    return by_model("degradation", "First level at which the accuracy is below a threshold", heads, entries, levels, "whole", keys)


def changes(entries: Sequence[Entry]) -> Table:
    """Return what those levels do to an image."""
    columns = [Column("degradation", "text"), Column("level", "whole"), Column("pixels changed"), Column("what the level does", "text")]
    found: dict[tuple[str, int], list[Cell]] = {}
    for e in entries:
        for name, profile in e.scores.profiles.items():
            for below in profile.first_below.values():
                if below is not None:
                    found.setdefault((name, below.level), [name, below.level, below.changed, below.change])
    return Table("degradation_levels", "What these levels do to an image", columns, [found[key] for key in sorted(found)])


def two_factor(entries: Sequence[Entry]) -> Table:
    """Return accuracy and its variation over sets (Dai & Berleant 2021)."""
    reference = reference_of(entries)
    columns = [MODEL, Column("clean accuracy"), Column("names", "whole"), *_with_ends(Column("mean accuracy"))]
    columns += [*_with_ends(Column("CV %", "number")), Column("sets", "whole"), Column("mean accuracy of sets")]
    columns += [Column("CV % of sets", "number"), Column("quadrant", "text")]
    rows: list[list[Cell]] = []
    for e in entries:
        if (t := e.scores.two_factor) is not None:
            means = [t.names or None, t.mean_accuracy, *_ends(t.mean_accuracy_interval), t.cv_percent, *_ends(t.cv_percent_interval)]
            of_sets = [t.distinct, t.distinct_mean_accuracy, t.distinct_cv_percent] if t.distinct else [None] * 3  # not in printed tables
            where = None if t.cv_percent is None or reference is None else quadrant(t.cv_percent, t.mean_accuracy, reference[:2])
            rows.append([e.label, e.clean, *means, *of_sets, where])
    if reference is not None:
        rows.append(["reference point", None, None, reference[1], None, None, reference[0], *[None] * 6])
    point = "mean of the models" if reference is None else reference.words
    notes = [f"The reference point: {point}. I: high accuracy, low CV; II: high, high; III: low, low; IV: low, high."]
    return Table("two_factor", "Mean accuracy and its coefficient of variation over two-factor sets", columns, rows, notes)


def correlations(entries: Sequence[Entry]) -> Table:
    """Return correlations of two-factor scores over models."""
    shown = [(e, e.scores.two_factor) for e in entries if e.scores.two_factor is not None]
    values: dict[str, list[float | None]] = {
        "CV": [t.cv_percent for _, t in shown],
        "mean accuracy": [t.mean_accuracy for _, t in shown],
        "clean accuracy": [e.clean for e, _ in shown],
    }
    rows: list[list[Cell]] = []
    for a, b in combinations(values, 2) if shown else ():
        pairs = [(x, y) for x, y in zip(values[a], values[b], strict=True) if x is not None and y is not None]
        x, y = ([pair[place] for pair in pairs] for place in (0, 1))
        rows.append([a, b, len(pairs), pearson(x, y), spearman(x, y)])
    columns = [
        *texts("score", "and"),
        Column("models", "whole"),
        *(Column(n, "number") for n in ("Pearson", "Spearman")),
    ]
    return Table("correlations", "Correlations over models", columns, rows, ["Of fewer than three models, or equal scores, there is none."])


def order_effects(entries: Sequence[Entry]) -> Table:
    """Return the accuracy of A then B less that of B then A."""
    effects = [[] if e.scores.two_factor is None else e.scores.two_factor.order_effects for e in entries]
    values = [{(o.first, o.second): [o.difference, *_ends(o.interval)] for o in own} for own in effects]
    columns = texts("first order", "second order")
    columns += [one for e in entries for one in _with_ends(Column(e.label, "points"))]
    rows = [
        [*key, *(cell for own in values for cell in own.get(key, [None] * 3))]
        for key in dict.fromkeys(key for own in values for key in own)
    ]
    return Table("order_effects", "Accuracy on the first order less that on the second", columns, rows)


def fragile(entries: Sequence[Entry]) -> Table:
    """Return fragile rates by size (Srivastava, Ben-Yosef & Boix 2019)."""
    rates = [{key: rate.rate for key, rate in _rates(e.scores).items()} for e in entries]
    return by_model("fragile", "Fragile rates", texts("regions", "change"), entries, rates)


def fragile_parts(entries: Sequence[Entry]) -> Table:
    """Return them with intervals, positive and negative apart."""
    columns = [MODEL, *texts("regions", "change"), Column("rate"), *(Column(end, end=end) for end in ENDS)]
    columns += [Column("positive"), Column("negative"), Column("anchors", "whole")]
    rows: list[list[Cell]] = [
        [e.label, *key, r.rate, *_ends(r.interval), r.positive, r.negative, r.anchors]
        for e in entries
        for key, r in _rates(e.scores).items()
    ]
    return Table("fragile_parts", "Fragile rates, of right (positive) and wrong (negative) regions", columns, rows)


def _rates(scores: Scores) -> dict[tuple[str, str], FragileRate]:
    return {(group, name.replace("_", " ")): rate for group, own in scores.fragile.items() for name, rate in own if rate is not None}


def differences_table(found: Sequence[Difference]) -> Table:
    """Return the differences between models."""
    columns = [*texts("score", "model", "less"), Column("difference", "points")]
    columns += [*(Column(end, "points", end) for end in ENDS), Column("exceeds", "text")]
    said = {None: "no interval", True: "yes", False: "no"}
    rows: list[list[Cell]] = [[d.score, d.first, d.second, d.difference, d.low, d.high, said[d.exceeds]] for d in found]
    notes = ["A difference exceeds its interval of 95 % over paired resamples of the images where the interval does not have 0 in it."]
    return Table("differences", "Differences between models", columns, rows, notes)


def _with_ends(column: Column) -> list[Column]:
    """Return a column and those of the ends of its interval."""
    return [column, *(Column(f"{column.title}, {end}", column.kind, end) for end in ENDS)]


def _ends(interval: Interval) -> tuple[float | None, float | None]:
    return interval or (None, None)
