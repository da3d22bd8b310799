"""Which tables a comparison has: those of the papers, each with the scores that its models have."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import Literal

from ..published import EXTRA, FIFTEEN
from ..records import FragileRate, Scores
from .correlations import pearson, quadrant, reference_point, spearman
from .curves import profile_names, profiles_of
from .differences import Difference
from .entries import Entry
from .tables import Cell, Column, Table

MODEL = Column("model", "text")
ENDS: tuple[Literal["low", "high"], ...] = ("low", "high")
"""Of an interval."""


def tables(entries: Sequence[Entry], found: Sequence[Difference]) -> list[Table]:
    """Return all tables that models have scores for."""
    made = [
        summary(entries),
        # laid out as table 1 of Hendrycks & Dietterich 2018
        _of_fifteen(entries, "aude", "AUDE by corruption", {"mAUDE": "maude", "relative mAUDE": "relative_maude"}),
        _by_model("aude_others", "AUDE of other curves", "curve", entries, _other_curves),
        # laid out as table 1 of Hendrycks & Dietterich 2019
        _of_fifteen(entries, "ce", _named("CE", entries), {"mCE": "mce"}),
        _of_fifteen(entries, "relative_ce", _named("relative CE", entries), {"relative mCE": "relative_mce"}),
        _by_model("families", "Mean accuracy by family of corruptions", "family", entries, lambda s: s.families),
        _by_model("accuracy", "Accuracy by set", "set", entries, lambda s: {n: one.accuracy for n, one in s.sets.items()}),
        first_below(entries),
        changes(entries),
        two_factor(entries),
        correlations(entries),
        order_effects(entries),
        fragile(entries),
        fragile_parts(entries),
        _by_model("style", "Accuracy by group of samples", "group", entries, lambda s: s.style),
        differences_table(found),
    ]
    return [table for table in made if table is not None and table.rows]


def summary(entries: Sequence[Entry]) -> Table:
    """Return the scores that are one number each, with their intervals."""
    wanted: list[tuple[Column, Callable[[Scores], float | None], str]] = [
        (Column("clean accuracy"), lambda s: s.sets["clean"].accuracy if "clean" in s.sets else None, "clean_accuracy"),
        (Column("mean accuracy"), lambda s: s.mean_accuracy, "mean_accuracy"),
        (Column("mAUDE"), lambda s: s.maude, "maude"),
        (Column("relative mAUDE"), lambda s: s.relative_maude, "relative_maude"),
        (Column("mCE"), lambda s: s.mce, "mce"),
        (Column("relative mCE"), lambda s: s.relative_mce, "relative_mce"),
        (Column("CV %", "number"), lambda s: None if s.two_factor is None else s.two_factor.cv_percent, "two_factor.cv_percent"),
        (Column("RB-index", "number"), lambda s: s.rb_index, "rb_index"),
        (Column("style gap"), lambda s: s.style_gap, "style_gap"),
    ]
    columns, cells = [MODEL], [[e.label] for e in entries]
    rows: list[list[Cell]] = [list(row) for row in cells]
    for column, get, name in wanted:
        if any(get(e.scores) is not None for e in entries):
            columns += _with_ends(column)
            for row, e in zip(rows, entries, strict=True):
                row += [get(e.scores), *_ends(e.scores.intervals.get(name))]
    return Table("summary", "Scores that are one number, with intervals of 95 % over resamples of the images", columns, rows)


def _named(title: str, entries: Sequence[Entry]) -> str:
    baselines = list(dict.fromkeys(e.scores.baseline for e in entries if e.scores.baseline is not None))
    return f"{title} by corruption, relative to {' or '.join(baselines)}"


def _of_fifteen(entries: Sequence[Entry], name: str, title: str, means: Mapping[str, str]) -> Table | None:
    """Return a row a model: clean error, means, and the fifteen corruptions and the extra four, as far as there are."""
    there = [c for c in (*FIFTEEN, *EXTRA) if any(c in getattr(e.scores, name) for e in entries)]
    if not there:
        return None
    columns = [MODEL, Column("clean error"), *map(Column, means), *map(Column, there)]
    rows: list[list[Cell]] = [
        [e.label, None if e.clean is None else 1 - e.clean, *(getattr(e.scores, mean) for mean in means.values())]
        + [getattr(e.scores, name).get(corruption) for corruption in there]
        for e in entries
    ]
    return Table(name, title, columns, rows)


def _other_curves(scores: Scores) -> Mapping[str, Cell]:
    """Return the AUDE of whatever else has five severities: other corruptions, and chains."""
    return {name: area for name, area in scores.aude.items() if name not in (*FIFTEEN, *EXTRA)}


def _by_model(name: str, title: str, of: str, entries: Sequence[Entry], get: Callable[[Scores], Mapping[str, Cell]]) -> Table:
    """Return a row a name, a column a model."""
    values = [get(e.scores) for e in entries]
    columns = [Column(of, "text"), *(Column(e.label) for e in entries)]
    rows = [[row, *(own.get(row) for own in values)] for row in dict.fromkeys(row for own in values for row in own)]
    return Table(name, title, columns, rows)


def first_below(entries: Sequence[Entry]) -> Table | None:
    """Return the level at which the accuracy first falls below thresholds (Swingler 2022)."""
    keys = [(name, threshold) for name in profile_names(entries) for threshold in ("0.9", "0.5", "0.1")]
    columns = [Column("degradation", "text"), Column("accuracy below %", "whole"), *(Column(e.label, "whole") for e in entries)]
    rows = []
    for name, threshold in keys:
        levels: list[Cell] = []
        for e in entries:
            profile = profiles_of(e).get(name)
            below = None if profile is None else profile.first_below.get(threshold)
            levels.append(None if profile is None else "never" if below is None else below.level)
        rows.append([name, round(100 * float(threshold)), *levels])
    return Table("degradation", "First level at which the accuracy is below a threshold", columns, rows)


def changes(entries: Sequence[Entry]) -> Table | None:
    """Return what those levels do to an image."""
    columns = [Column("degradation", "text"), Column("level", "whole"), Column("pixels changed"), Column("what the level does", "text")]
    found: dict[tuple[str, int], list[Cell]] = {}
    for e in entries:
        for name, profile in e.scores.profiles.items():
            for below in profile.first_below.values():
                if below is not None:
                    found.setdefault((name, below.level), [name, below.level, below.changed, below.change])
    return Table("degradation_levels", "What these levels do to an image", columns, [found[key] for key in sorted(found)])


def two_factor(entries: Sequence[Entry]) -> Table | None:
    """Return accuracy and its variation over sets (Dai & Berleant 2021)."""
    shown = [(e, e.scores.two_factor) for e in entries if e.scores.two_factor is not None]
    points = {e.label: (t.cv_percent, t.mean_accuracy) for e, t in shown if t is not None and t.cv_percent is not None}
    if not shown:
        return None
    reference = reference_point(*zip(*points.values(), strict=True)) if points else None
    fields = [Column("names", "whole"), *_with_ends(Column("mean accuracy"))]
    cv = _with_ends(Column("CV %", "number"))
    distinct = [Column("sets", "whole"), Column("mean accuracy of sets"), Column("CV % of sets", "number")]
    rows: list[list[Cell]] = []
    for e, t in shown:
        assert t is not None
        where = quadrant(*points[e.label], reference) if reference is not None and e.label in points else None
        means = [t.names, t.mean_accuracy, *_ends(t.mean_accuracy_interval), t.cv_percent, *_ends(t.cv_percent_interval)]
        rows.append([e.label, e.clean, *means, t.distinct, t.distinct_mean_accuracy, t.distinct_cv_percent, where])
    if reference is not None:
        blank = [None] * 5
        rows.append(["reference point", None, None, reference[1], None, None, reference[0], *blank, None])
    columns = [MODEL, Column("clean accuracy"), *fields, *cv, *distinct, Column("quadrant", "text")]
    notes = ["The reference point is the mean of the models. I: high accuracy, low CV; II: high, high; III: low, low; IV: low, high."]
    return Table("two_factor", "Mean accuracy and its coefficient of variation over two-factor sets", columns, rows, notes)


def correlations(entries: Sequence[Entry]) -> Table | None:
    """Return correlations of two-factor scores over models."""
    shown = [e for e in entries if e.scores.two_factor is not None]
    values: dict[str, list[float | None]] = {
        "CV": [e.scores.two_factor.cv_percent for e in shown if e.scores.two_factor is not None],
        "mean accuracy": [e.scores.two_factor.mean_accuracy for e in shown if e.scores.two_factor is not None],
        "clean accuracy": [e.clean for e in shown],
    }
    if not shown:
        return None
    rows: list[list[Cell]] = []
    for a, b in combinations(values, 2):
        pairs = [(x, y) for x, y in zip(values[a], values[b], strict=True) if x is not None and y is not None]
        x, y = [one for one, _ in pairs], [other for _, other in pairs]
        rows.append([a, b, len(pairs), pearson(x, y), spearman(x, y)])
    columns = [
        Column("score", "text"),
        Column("and", "text"),
        Column("models", "whole"),
        Column("Pearson", "number"),
        Column("Spearman", "number"),
    ]
    return Table("correlations", "Correlations over models", columns, rows, ["Of fewer than three models, or equal scores, there is none."])


def order_effects(entries: Sequence[Entry]) -> Table | None:
    """Return the accuracy of A then B less that of B then A."""
    values = [{} if e.scores.two_factor is None else {(o.first, o.second): o for o in e.scores.two_factor.order_effects} for e in entries]
    keys = list(dict.fromkeys(key for own in values for key in own))
    columns = [Column("first order", "text"), Column("second order", "text")]
    for e in entries:
        columns += _with_ends(Column(e.label, "points"))
    rows: list[list[Cell]] = []
    for key in keys:
        row: list[Cell] = [*key]
        for own in values:
            effect = own.get(key)
            row += [None] * 3 if effect is None else [effect.difference, *_ends(effect.interval)]
        rows.append(row)
    return Table("order_effects", "Accuracy on the first order less that on the second", columns, rows)


def fragile(entries: Sequence[Entry]) -> Table | None:
    """Return fragile rates by size (Srivastava, Ben-Yosef & Boix 2019)."""
    rates = [_rates(e.scores) for e in entries]
    keys = list(dict.fromkeys(key for own in rates for key in own))
    columns = [Column("regions", "text"), Column("change", "text"), *(Column(e.label) for e in entries)]
    rows: list[list[Cell]] = [[*key, *(own[key].rate if key in own else None for own in rates)] for key in keys]
    return Table("fragile", "Fragile rates", columns, rows)


def fragile_parts(entries: Sequence[Entry]) -> Table | None:
    """Return them with intervals, positive and negative apart."""
    columns = [MODEL, Column("regions", "text"), Column("change", "text"), Column("rate"), *(Column(end, end=end) for end in ENDS)]
    columns += [Column("positive"), Column("negative"), Column("anchors", "whole")]
    rows: list[list[Cell]] = [
        [e.label, *key, r.rate, *_ends(r.interval), r.positive, r.negative, r.anchors]
        for e in entries
        for key, r in _rates(e.scores).items()
    ]
    return Table("fragile_parts", "Fragile rates, of right (positive) and wrong (negative) regions", columns, rows)


def _rates(scores: Scores) -> dict[tuple[str, str], FragileRate]:
    found = {}
    for group, of_group in scores.fragile.items():
        for name in type(of_group).model_fields:
            if (rate := getattr(of_group, name)) is not None:
                found[group, name.replace("_", " ")] = rate
    return found


def differences_table(found: Sequence[Difference]) -> Table:
    """Return the differences between models."""
    columns = [Column("score", "text"), Column("model", "text"), Column("less", "text"), Column("difference", "points")]
    columns += [*(Column(end, "points", end) for end in ENDS), Column("exceeds", "text")]
    said = {None: "no interval", True: "yes", False: "no"}
    rows: list[list[Cell]] = [[d.score, d.first, d.second, d.difference, d.low, d.high, said[d.exceeds]] for d in found]
    notes = ["A difference exceeds its interval of 95 % over paired resamples of the images where the interval does not have 0 in it."]
    return Table("differences", "Differences between models", columns, rows, notes)


def _with_ends(column: Column) -> list[Column]:
    """Return a column and those of the ends of its interval."""
    return [column, *(Column(f"{column.title}, {end}", column.kind, end) for end in ENDS)]


def _ends(interval: tuple[float, float] | None) -> tuple[float | None, float | None]:
    return interval or (None, None)
