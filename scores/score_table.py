"""`score_table`: mean performance under corruption and robustness index of any metric, from a table of it by set."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import FiniteFloat, TypeAdapter, ValidationError

from ..errors import ScoreError, first_few, mistakes, suggest
from ..files import read_text, reason
from ..manifests.disk.atomic import write_atomic
from ..manifests.records.models import Record
from ..manifests.records.parsing import field_mistakes
from .formulas import rb_index
from .outcomes import CLEAN
from .published import EXTRA, FAMILIES, FAMILY_OF, FIFTEEN, SEVERITIES
from .tables import Column, Table

TABLE_SCORES_VERSION = 1
SET_COLUMNS = ("set", "set_id")
MOST_BYTES = 64 << 20

Metrics = Mapping[str, Mapping[str, float]]
"""Set id -> metric -> value."""
METRICS = TypeAdapter(dict[str, dict[str, FiniteFloat]])


class Performance(Record):
    """A mean over sets."""

    mean: float | None
    """In the unit of the table: mPC, where it is over all corruptions. Null where a set has no value."""
    relative: float | None
    """Divided by the clean value: rPC, where it is over all corruptions. Null where that is missing or zero."""


class MetricScores(Record):
    """Of one metric."""

    clean: float | None
    mpc: float | None
    """Mean performance under corruption: over the corruptions of the mean over five severities."""
    rpc: float | None
    """Relative performance under corruption: mPC / clean."""
    rb_index: float | None
    """Robustness index: the mean loss over `rb_sets` sets, as a share of the clean value. Null where one of them has no
    value.
    """
    rb_sets: int
    families: dict[str, Performance]
    corruptions: dict[str, Performance]
    missing: list[str]
    """The sets that mPC needs and that have no value; the clean one among them, which rPC needs."""


class TableScores(Record):
    """What `score_table` returns."""

    schema_version: int
    over: list[str]
    """The corruptions that the means are over."""
    metrics: dict[str, MetricScores]
    notes: list[str]

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()

    def table(self) -> Table:
        """Return a row for each metric and mean: of all corruptions, of each family, of each corruption."""
        rows: list[list[str | float | None]] = []
        for name, scores in self.metrics.items():
            rows += [[name, "clean", scores.clean, None], [name, "mPC, rPC", scores.mpc, scores.rpc]]
            rows.append([name, f"RB-index of {scores.rb_sets} sets", scores.rb_index, None])
            for means in (scores.families, scores.corruptions):
                rows += [[name, of, one.mean, one.relative] for of, one in means.items()]
        columns = [
            Column("metric", "text"),
            Column("over", "text"),
            Column("mean", "number"),
            Column("over clean", "number"),
        ]
        return Table("score-table", "Mean and relative performance under corruption", columns, rows, self.notes)


def score_table(
    table: str | Path | Mapping[str, Any],
    *,
    corruptions: Sequence[str] | None = None,
    lower_is_better: Sequence[str] = (),
    out: str | Path | None = None,
) -> TableScores:
    """Return mPC, rPC and RB-index of every metric of a table: a detector's AP, a segmenter's mIoU, an error or a
    distance.

    Parameters
    ----------
    table : path or mapping
        Set id -> metric -> value, or a file: a CSV with a column ``set`` and one for each metric; a JSON object of that
        form; or, as mmdetection's robustness test writes it, corruption -> severity -> metric -> value, where severity
        0 is ``clean`` and metrics may be of kinds, ``{"bbox": {"AP": 0.31}}``.
    corruptions : sequence of str, optional
        What the means are over; by default the fifteen of ImageNet-C. The RB-index is over the sets of these that are
        in the table; by default over all sets but ``clean`` and those of the four extra corruptions, which are to
        validate on.
    lower_is_better : sequence of str
        Metrics whose lower values are better, such as an error: their RB-index has the other sign (Flag = -1).
    out : path, optional
        A folder that receives score-table.json and score-table.csv.

    Returns
    -------
    TableScores

    Raises
    ------
    ScoreError
        The table cannot be read or has mistakes: all of them listed. Sets that are missing are no mistake: they are
        named.

    Notes
    -----
    A family's mean is over its corruptions. Values keep their unit, fractions or per cent.

    References
    ----------
    mPC, rPC: Michaelis et al. 2019, "Benchmarking robustness in object detection: autonomous driving when winter is
    coming", equations 1 and 2. RB-index: FlagEval, robustness evaluation of vision models, ``Flag / (T * A_org) *
    sum(A_org - A_i)``.

    Examples
    --------
    >>> sets = {f"fog/{s}": {"AP": 0.40 - 0.05 * s} for s in range(1, 6)} | {"clean": {"AP": 0.40}}
    >>> scores = score_table(sets, corruptions=["fog"])
    >>> round(scores.metrics["AP"].mpc, 4), round(scores.metrics["AP"].rpc, 4)
    (0.25, 0.625)
    >>> round(scores.metrics["AP"].rb_index, 4), scores.metrics["AP"].rb_sets
    (0.375, 5)
    """
    where = "The table" if isinstance(table, Mapping) else f"The table {table}"
    is_csv = not isinstance(table, Mapping) and Path(table).suffix.lower() == ".csv"
    checked = _checked(where, table if isinstance(table, Mapping) else _read(where, Path(table)), strict=not is_csv)
    over = list(dict.fromkeys(FIFTEEN if corruptions is None else corruptions))
    wanted = {name: [f"{name}/{severity}" for severity in SEVERITIES] for name in over}
    known = {set_id for ids in wanted.values() for set_id in ids} | {CLEAN}
    if absent := [name for name in over if corruptions is not None and not set(wanted[name]) & checked.keys()]:
        hints = [
            f"{name}: no set of it is in the table.{suggest(name, {s.partition('/')[0] for s in checked})}"
            for name in absent
        ]
        raise ScoreError(mistakes("--corruptions", hints))
    names = list(dict.fromkeys(metric for of_set in checked.values() for metric in of_set))
    if unknown := [name for name in lower_is_better if name not in names]:
        raise ScoreError(
            mistakes("--lower-is-better", [f"{n}: the table has no such metric.{suggest(n, names)}" for n in unknown])
        )
    left_out = EXTRA if corruptions is None else {set_id.partition("/")[0] for set_id in checked} - set(over)
    tests = [set_id for set_id in checked if set_id != CLEAN and set_id.partition("/")[0] not in left_out]
    metrics = {}
    for name in names:
        value_of = {s: of[name] for s, of in checked.items() if name in of}
        metrics[name] = _scores(value_of, wanted, tests, flag=-1 if name in lower_is_better else 1)
    notes = [_missing(name, one) for name, one in metrics.items() if one.missing]
    notes += [
        f"{name}: the clean value is 0, so there is no rPC and no RB-index."
        for name, one in metrics.items()
        if one.clean == 0
    ]
    without = {name: [set_id for set_id in tests if name not in checked[set_id]] for name in names}
    notes += [f"{name}: no RB-index: {first_few(sets, 20)} without a value." for name, sets in without.items() if sets]
    if others := [set_id for set_id in checked if set_id not in known]:
        notes.append(
            f"{len(others)} sets do not count in mPC, as they are not among the corruptions of the means: "
            f"{first_few(others)}."
        )
    scores = TableScores(schema_version=TABLE_SCORES_VERSION, over=over, metrics=metrics, notes=notes)
    if out is not None:
        folder = Path(out)
        folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps(scores.as_json(), ensure_ascii=False, indent=1, allow_nan=False)
        write_atomic(folder / "score-table.json", text.encode(), b"\n")
        write_atomic(folder / "score-table.csv", scores.table().csv().encode())
    return scores


def _missing(name: str, scores: MetricScores) -> str:
    whole = [c for c in scores.corruptions if all(f"{c}/{s}" in scores.missing for s in SEVERITIES)]
    rest = [set_id for set_id in scores.missing if set_id.partition("/")[0] not in whole]
    lacking = "no mPC" if scores.mpc is None else "no rPC"
    return (
        f"{name}: {lacking}: {len(scores.missing)} sets have no value: "
        f"{first_few([*(f'{c}/1-5' for c in whole), *rest], 20)}."
    )


def _scores(
    value_of: Mapping[str, float], wanted: Mapping[str, Sequence[str]], tests: Sequence[str], *, flag: int
) -> MetricScores:
    """Return the scores of one metric from its value of each set; `tests` are those of the RB-index."""
    clean = value_of.get(CLEAN)

    def performance(values: Sequence[float | None]) -> Performance:
        known = [value for value in values if value is not None]
        mean = math.fsum(known) / len(known) if known and len(known) == len(values) else None
        return Performance(mean=mean, relative=mean / clean if mean is not None and clean else None)

    of = {name: performance([value_of.get(set_id) for set_id in ids]) for name, ids in wanted.items()}
    families: dict[str, list[float | None]] = {family: [] for family in (*FAMILIES, "other")}
    for name, one in of.items():
        families[FAMILY_OF.get(name, "other")].append(one.mean)
    over_all = performance([one.mean for one in of.values()])
    whole = clean and tests and all(set_id in value_of for set_id in tests)
    others = [np.array(value_of[set_id]) for set_id in tests] if clean and whole else []
    loss = float(rb_index(np.array(clean), others)) if others else None
    return MetricScores(
        clean=clean,
        mpc=over_all.mean,
        rpc=over_all.relative,
        rb_index=None if loss is None else flag * loss,
        rb_sets=len(tests),
        families={family: performance(means) for family, means in families.items() if means},
        corruptions=of,
        missing=[set_id for set_id in [CLEAN, *(s for ids in wanted.values() for s in ids)] if set_id not in value_of],
    )


def _read(where: str, path: Path) -> Any:
    """Return what a file says of sets."""
    try:
        text = read_text(path, MOST_BYTES)
    except OSError as e:
        raise ScoreError(f"{where} cannot be read: {reason(e)}.") from None
    if path.suffix.lower() == ".csv":
        return _from_csv(where, text)
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as e:
        raise ScoreError(
            f"{where} is not JSON: {e}. Give a CSV (.csv) or a JSON file; docs/detection.md says how they look."
        ) from None


def _from_csv(where: str, text: str) -> list[tuple[str, dict[str, Any]]]:
    reader = csv.DictReader(text.splitlines())
    columns = [name for name in reader.fieldnames or [] if name]
    key = next((name for name in SET_COLUMNS if name in columns), None)
    if key is None or len(columns) < 2 or len(set(columns)) < len(columns):
        raise ScoreError(
            f"{where} has the columns {', '.join(columns) or 'none'}; expected set, and then one for each metric, all "
            "different."
        )
    rows = list(reader)
    if problems := [
        f"line {line}: has no set id, or more cells than columns"
        for line, row in enumerate(rows, 2)
        if None in row or not (row[key] or "").strip()
    ]:
        raise ScoreError(mistakes(where, problems))
    filled = [{name: row[name] for name in columns if name != key and (row[name] or "").strip()} for row in rows]
    return list(zip((row[key].strip() for row in rows), filled, strict=True))


def _checked(where: str, values: Any, *, strict: bool) -> Metrics:
    """Return the metrics by set, or raise with all that is no finite number."""
    of_csv = isinstance(values, list) and not strict
    if not values or not (of_csv or isinstance(values, Mapping)):
        raise ScoreError(
            f"{where} names no set; expected set id -> metric -> value, such as {{'fog/3': {{'AP': 0.31}}}}."
        )
    problems, sets = [], dict[str, Mapping[str, float]]()
    for set_id, metrics in values if of_csv else _flat(values):
        if set_id in sets and sets[set_id] != metrics:
            problems.append(f"{set_id}: is there twice, with other values")
        sets[set_id] = metrics
    try:
        valid = METRICS.validate_python(sets, strict=strict)
    except ValidationError as e:
        problems += field_mistakes(e)
    if problems:
        raise ScoreError(mistakes(where, problems))
    return valid


def _flat(values: Mapping[Any, Any]) -> Iterator[tuple[str, Any]]:
    """Yield (set id, metrics), also of corruption -> severity -> metrics."""
    for name, inner in values.items():
        if isinstance(inner, Mapping) and inner and all(str(key).isdecimal() for key in inner):
            for severity, metrics in inner.items():
                yield CLEAN if str(severity) == "0" else f"{name}/{severity}", _metrics(metrics)
        else:
            yield str(name), _metrics(inner)


def _metrics(of_set: Any) -> Any:
    """Return metric -> value; metrics of a kind (``bbox``) are called by it."""
    if not isinstance(of_set, Mapping):
        return of_set
    flat: dict[str, Any] = {}
    for name, value in of_set.items():
        flat |= (
            {f"{name} {metric}": one for metric, one in value.items()}
            if isinstance(value, Mapping)
            else {str(name): value}
        )
    return flat
