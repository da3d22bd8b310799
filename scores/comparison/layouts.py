"""Which tables a comparison has: those of the papers, each with the scores that its models have."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

from ..published import EXTRA, FIFTEEN
from ..records import SUMMARY, FragileRate, Interval, Scores
from ..tables import Cell, Column, Kind, Table, texts, with_ends
from .correlations import pearson, quadrant, spearman
from .differences import Difference
from .entries import Entry, reference_of
from .figures import profile_names, profiles_of

MODEL = Column("model", "text")
SINGLE = (*FIFTEEN, *EXTRA)
THRESHOLDS = {"0.9": 90, "0.5": 50, "0.1": 10}


def tables(entries: Sequence[Entry], found: Sequence[Difference]) -> list[Table]:
    """Return all tables that models have scores for."""

    def names(
        name: str, title: str, of: str, get: Callable[[Scores], Mapping[str, Cell]], kind: Kind = "percent"
    ) -> Table:
        """Return a row a name, a column a model."""
        values = [{(row,): cell for row, cell in get(e.scores).items()} for e in entries]
        return by_model(name, title, texts(of), entries, values, kind)

    made = [
        _summary(entries),
        # laid out as table 1 of Hendrycks & Dietterich 2018
        _of_fifteen(entries, "aude", "AUDE by corruption", {"mAUDE": "maude", "relative mAUDE": "relative_maude"}),
        names(
            "aude_others",
            "AUDE of other curves",
            "curve",
            lambda s: {n: area for n, area in s.aude.items() if n not in SINGLE},
        ),
        # laid out as table 1 of Hendrycks & Dietterich 2019
        _of_fifteen(entries, "ce", _named("CE", entries), {"mCE": "mce"}),
        _of_fifteen(entries, "relative_ce", _named("relative CE", entries), {"relative mCE": "relative_mce"}),
        names("families", "Mean accuracy by family of corruptions", "family", lambda s: s.families),
        names(
            "worst_case",
            "Images right under every set",
            "over the sets of",
            lambda s: {n: w.share for n, w in s.worst_case.items()},
        ),
        names(
            "greatest_loss",
            "Greatest loss within a radius, mean over images",
            "within",
            lambda s: {n: w.loss for n, w in s.worst_case.items() if w.loss is not None},
            "number",
        ),
        names("accuracy", "Accuracy by set", "set", lambda s: {n: one.accuracy for n, one in s.sets.items()}),
        _first_below(entries),
        _changes(entries),
        _two_factor(entries),
        _correlations(entries),
        _order_effects(entries),
        *_fragile(entries),
        names("style", "Accuracy by group of samples", "group", lambda s: s.style),
        _differences(found),
    ]
    return [table for table in made if table.rows]


def _summary(entries: Sequence[Entry]) -> Table:
    """Return the scores that are one number each, with their intervals."""
    points = [e.scores.numbers() for e in entries]
    there = {name: column for name, column in SUMMARY.items() if any(name in own for own in points)}
    rows = [
        [e.label, *(cell for name in there for cell in (own.get(name), *_ends(e.scores.intervals.get(name))))]
        for e, own in zip(entries, points, strict=True)
    ]
    title = "Scores that are one number, with intervals of 95 % over resamples of the images"
    return Table("summary", title, [MODEL, *with_ends(*there.values())], rows)


def _named(title: str, entries: Sequence[Entry]) -> str:
    baselines = list(dict.fromkeys(e.scores.baseline for e in entries if e.scores.baseline is not None))
    return f"{title} by corruption, relative to {' or '.join(baselines)}"


def _of_fifteen(entries: Sequence[Entry], name: str, title: str, means: Mapping[str, str]) -> Table:
    """Return a row a model: clean error, means, and the fifteen corruptions and the extra four, as far as there are."""
    there = [c for c in SINGLE if any(c in getattr(e.scores, name) for e in entries)]
    rows: list[list[Cell]] = [
        [e.label, None if e.clean is None else 1 - e.clean, *(getattr(e.scores, mean) for mean in means.values())]
        + [getattr(e.scores, name).get(corruption) for corruption in there]
        for e in entries
        if there
    ]
    return Table(name, title, [MODEL, Column("clean error"), *map(Column, (*means, *there))], rows)


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
    every = dict.fromkeys(key for own in values for key in own) if keys is None else keys
    rows = [[*key, *(own.get(key) for own in values)] for key in every]
    return Table(name, title, [*heads, *(Column(e.label, kind) for e in entries)], rows)


def _first_below(entries: Sequence[Entry]) -> Table:
    """Return the level at which the accuracy first falls below thresholds (Swingler 2022)."""
    levels: list[dict[tuple[str, int], Cell]] = [
        {
            (name, share): "never" if (below := profile.first_below.get(threshold)) is None else below.level
            for name, profile in profiles_of(e).items()
            for threshold, share in THRESHOLDS.items()
        }
        for e in entries
    ]
    keys = [(name, share) for name in profile_names(entries) for share in THRESHOLDS.values()]
    heads = [*texts("degradation"), Column("accuracy below %", "whole")]
    return by_model(
        "degradation", "First level at which the accuracy is below a threshold", heads, entries, levels, "whole", keys
    )


def _changes(entries: Sequence[Entry]) -> Table:
    """Return what those levels do to an image."""
    found: dict[tuple[str, int], list[Cell]] = {
        (name, below.level): [name, below.level, below.changed, below.change]
        for e in entries
        for name, profile in e.scores.profiles.items()
        for below in profile.first_below.values()
        if below is not None
    }
    columns = [*texts("degradation"), Column("level", "whole"), Column("pixels changed"), *texts("what the level does")]
    return Table(
        "degradation_levels", "What these levels do to an image", columns, [found[key] for key in sorted(found)]
    )


def _two_factor(entries: Sequence[Entry]) -> Table:
    """Return accuracy and its variation over sets (Dai & Berleant 2021)."""
    reference = reference_of(entries)
    columns = [
        MODEL,
        Column("clean accuracy"),
        Column("names", "whole"),
        *with_ends(Column("mean accuracy"), Column("CV %", "number")),
    ]
    columns += [
        Column("sets", "whole"),
        Column("mean accuracy of sets"),
        Column("CV % of sets", "number"),
        *texts("quadrant"),
    ]
    rows: list[list[Cell]] = []
    for e in entries:
        if (t := e.scores.two_factor) is not None:
            means = [
                t.names or None,
                t.mean_accuracy,
                *_ends(t.mean_accuracy_interval),
                t.cv_percent,
                *_ends(t.cv_percent_interval),
            ]
            # not in printed tables
            of_sets = [t.distinct, t.distinct_mean_accuracy, t.distinct_cv_percent] if t.distinct else [None] * 3
            where = (
                None
                if t.cv_percent is None or reference is None
                else quadrant(t.cv_percent, t.mean_accuracy, reference[:2])
            )
            rows.append([e.label, e.clean, *means, *of_sets, where])
    if reference is not None:
        rows.append(["reference point", None, None, reference[1], None, None, reference[0], *[None] * 6])
    point = "mean of the models" if reference is None else reference.words
    notes = [f"The reference point: {point}. I: high accuracy, low CV; II: high, high; III: low, low; IV: low, high."]
    return Table(
        "two_factor", "Mean accuracy and its coefficient of variation over two-factor sets", columns, rows, notes
    )


def _correlations(entries: Sequence[Entry]) -> Table:
    """Return correlations of two-factor scores over models."""
    shown = [(t.cv_percent, t.mean_accuracy, e.clean) for e in entries if (t := e.scores.two_factor) is not None]
    rows: list[list[Cell]] = []
    for (a, first), (b, second) in (
        combinations(enumerate(("CV", "mean accuracy", "clean accuracy")), 2) if shown else ()
    ):
        pairs = [(one, other) for own in shown if (one := own[a]) is not None and (other := own[b]) is not None]
        x, y = ([pair[place] for pair in pairs] for place in (0, 1))
        rows.append([first, second, len(pairs), pearson(x, y), spearman(x, y)])
    columns = [
        *texts("score", "and"),
        Column("models", "whole"),
        Column("Pearson", "number"),
        Column("Spearman", "number"),
    ]
    return Table(
        "correlations",
        "Correlations over models",
        columns,
        rows,
        ["Of fewer than three models, or equal scores, there is none."],
    )


def _order_effects(entries: Sequence[Entry]) -> Table:
    """Return the accuracy of A then B less that of B then A."""
    effects = [[] if e.scores.two_factor is None else e.scores.two_factor.order_effects for e in entries]
    values = [{(o.first, o.second): [o.difference, *_ends(o.interval)] for o in own} for own in effects]
    rows = [
        [*key, *(cell for own in values for cell in own.get(key, [None] * 3))]
        for key in dict.fromkeys(key for own in values for key in own)
    ]
    columns = [*texts("first order", "second order"), *with_ends(*(Column(e.label, "points") for e in entries))]
    return Table("order_effects", "Accuracy on the first order less that on the second", columns, rows)


def _fragile(entries: Sequence[Entry]) -> list[Table]:
    """Return fragile rates by size (Srivastava, Ben-Yosef & Boix 2019), and again with intervals, positive and negative
    apart.
    """
    rates: list[dict[tuple[str, str], FragileRate]] = [
        {
            (group, kind.replace("_", " ")): rate
            for group, own in e.scores.fragile.items()
            for kind, rate in own
            if rate is not None
        }
        for e in entries
    ]
    heads = texts("regions", "change")
    values: list[dict[Any, Cell]] = [{key: rate.rate for key, rate in own.items()} for own in rates]
    rows: list[list[Cell]] = [
        [e.label, *key, r.rate, *_ends(r.interval), r.positive, r.negative, r.minimal, r.anchors]
        for e, own in zip(entries, rates, strict=True)
        for key, r in own.items()
    ]
    columns = [MODEL, *heads, Column("rate"), Column("low", end="low"), Column("high", end="high")]
    columns += [Column("positive"), Column("negative"), Column("minimal images", "number")]
    columns.append(Column("anchors", "whole"))
    parts = Table("fragile_parts", "Fragile rates, of right (positive) and wrong (negative) regions", columns, rows)
    return [by_model("fragile", "Fragile rates", heads, entries, values), parts]


def _differences(found: Sequence[Difference]) -> Table:
    """Return the differences between models."""
    columns = [*texts("score", "model", "less"), Column("difference", "points")]
    columns += [Column("low", "points", "low"), Column("high", "points", "high"), *texts("exceeds")]
    said = {None: "no interval", True: "yes", False: "no"}
    rows: list[list[Cell]] = [[d.score, d.first, d.second, d.difference, d.low, d.high, said[d.exceeds]] for d in found]
    notes = [
        "A difference exceeds its interval of 95 % over paired resamples of the images where the interval does not "
        "have 0 in it."
    ]
    return Table("differences", "Differences between models", columns, rows, notes)


def _ends(interval: Interval) -> tuple[float | None, float | None]:
    return interval or (None, None)
