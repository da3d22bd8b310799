"""`score_table`: compute the mean performance under corruption and the robustness index of any metric."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import FiniteFloat, TypeAdapter, ValidationError

from ..errors import ScoreError, first_few, problems_message, suggest
from ..files import read_text, reason
from ..manifests.disk.atomic import write_atomic
from ..manifests.manifest_file import result_path
from ..manifests.records.models import Record
from ..manifests.records.parsing import field_errors
from ..quantities import plural
from .formulas import rb_index
from .outcomes import CLEAN
from .published import EXTRA, FAMILIES, FAMILY_OF, FIFTEEN, SEVERITIES
from .tables import Table, columns

TABLE_SCORES_VERSION = 1
SET_COLUMNS = ("set", "set_id")
MAX_TABLE_BYTES = 64 << 20

Metrics = Mapping[str, Mapping[str, float]]
"""A mapping of set id to metric to value."""
METRICS = TypeAdapter(dict[str, dict[str, FiniteFloat]])


class Performance(Record):
    """A mean of one metric over sets."""

    mean: float | None
    """The mean in the unit of the table, or null if a set has no value."""
    relative: float | None
    """The mean divided by the clean value, or null if the clean value is missing or 0."""


class MetricScores(Record):
    """The scores of one metric."""

    clean: float | None
    mpc: float | None
    """The mean performance under corruption: the mean over corruptions of the mean over five severities."""
    rpc: float | None
    """The relative performance under corruption: mPC divided by the clean value."""
    rb_index: float | None
    """The robustness benchmark index: the mean loss over `rb_sets` sets, as a fraction of the clean value. It is null
    if one of the sets has no value."""
    rb_sets: int
    families: dict[str, Performance]
    corruptions: dict[str, Performance]
    missing: list[str]
    """The sets that are needed for mPC or rPC but have no value."""


class TableScores(Record):
    """The scores of all metrics in a table."""

    schema_version: int
    over: list[str]
    """The corruptions that are averaged."""
    metrics: dict[str, MetricScores]
    notes: list[str]

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()

    def table(self) -> Table:
        """Return a table with a row per metric and mean.

        A mean is taken over all corruptions, a family or the severities of one corruption.
        """
        rows: list[list[str | float | None]] = []
        for name, scores in self.metrics.items():
            rows += [[name, "clean", scores.clean, None], [name, "mPC, rPC", scores.mpc, scores.rpc]]
            rows.append([name, f"RB-index of {scores.rb_sets} sets", scores.rb_index, None])
            for means in (scores.families, scores.corruptions):
                rows += [[name, of, one.mean, one.relative] for of, one in means.items()]
        heads = columns("text", "metric", "over") + columns("number", "mean", "over clean")
        return Table("score-table", "Mean and relative performance under corruption", heads, rows, self.notes)


def score_table(
    table: str | Path | Mapping[str, Any],
    *,
    corruptions: Sequence[str] | None = None,
    lower_is_better: Sequence[str] = (),
    out: str | Path | None = None,
) -> TableScores:
    """Compute mPC, rPC and the RB-index for every metric in a table.

    Parameters
    ----------
    table : path or mapping
        The values, as a mapping of set id to metric to value, or a file. A CSV file has the column ``set`` and one
        column per metric. A JSON file has the form of the mapping, or the form that mmdetection's robustness test
        writes, which is a mapping of corruption to severity to metric to value. In that form, severity 0 is ``clean``,
        and metrics may be grouped by kind, for example ``{"bbox": {"AP": 0.31}}``.
    corruptions : sequence of str, optional
        The corruptions to average over. The default is the fifteen corruptions of ImageNet-C. If corruptions are
        given, the RB-index is computed over their sets in the table. By default, it is computed over all sets except
        ``clean`` and the sets of the four extra corruptions, which are for validation.
    lower_is_better : sequence of str
        Metrics for which lower values are better, such as error rates. Their RB-index has the opposite sign (Flag =
        -1).
    out : path, optional
        A folder for score-table.json and score-table.csv.

    Returns
    -------
    TableScores

    Raises
    ------
    ScoreError
        If the table cannot be read or contains errors. The message lists all of them. Missing sets are not an
        error, and are listed in notes.

    Notes
    -----
    The mean of a family is taken over its corruptions. Values keep their unit, for example fractions or percent.

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
    values = _check_values(where, table if isinstance(table, Mapping) else _read(where, Path(table)))
    over = list(dict.fromkeys(FIFTEEN if corruptions is None else corruptions))
    metrics = list(dict.fromkeys(metric for of_set in values.values() for metric in of_set))
    in_table = {_corruption(set_id) for set_id in values}
    _refuse_unknown("--corruptions", corruptions or (), in_table, "the table has no set of this corruption")
    _refuse_unknown("--lower-is-better", lower_is_better, metrics, "the table has no such metric")
    excluded = EXTRA if corruptions is None else in_table - set(over)
    tests = [set_id for set_id in values if set_id != CLEAN and _corruption(set_id) not in excluded]
    found, notes = dict[str, MetricScores](), list[str]()
    for name in metrics:
        value_of = {set_id: of_set[name] for set_id, of_set in values.items() if name in of_set}
        one = found[name] = _scores(value_of, over, tests, -1 if name in lower_is_better else 1)
        if one.missing:
            lacking = "mPC" if one.mpc is None else "rPC"
            notes.append(
                f"{name}: There is no {lacking}, because these sets have no value: {first_few(one.missing, 20)}."
            )
        if one.clean == 0:
            notes.append(f"{name}: There is no rPC and no RB-index, because the clean value is 0.")
        if without := [set_id for set_id in tests if set_id not in value_of]:
            notes.append(f"{name}: There is no RB-index, because these sets have no value: {first_few(without, 20)}.")
    known = {CLEAN, *(set_id for name in over for set_id in _severities(name))}
    if others := [set_id for set_id in values if set_id not in known]:
        notes.append(f"mPC excludes {plural(len(others), 'set')} of other corruptions: {first_few(others)}.")
    scores = TableScores(schema_version=TABLE_SCORES_VERSION, over=over, metrics=found, notes=notes)
    if out is not None:
        folder = result_path(out)
        folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps(scores.as_json(), ensure_ascii=False, indent=1, allow_nan=False)
        write_atomic(folder / "score-table.json", text.encode(), b"\n")
        write_atomic(folder / "score-table.csv", scores.table().csv().encode())
    return scores


def _corruption(set_id: str) -> str:
    return set_id.partition("/")[0]


def _severities(corruption: str) -> list[str]:
    return [f"{corruption}/{severity}" for severity in SEVERITIES]


def _refuse_unknown(option: str, names: Sequence[str], known: Collection[str], why: str) -> None:
    if unknown := [f"{name}: {why}.{suggest(name, known)}" for name in names if name not in known]:
        raise ScoreError(problems_message(option, unknown))


def _scores(value_of: Mapping[str, float], over: Sequence[str], tests: Sequence[str], flag: int) -> MetricScores:
    """Return the scores of one metric. The RB-index is computed over the sets `tests`."""
    clean = value_of.get(CLEAN)

    def performance(values: Sequence[float | None]) -> Performance:
        known = [value for value in values if value is not None]
        mean = math.fsum(known) / len(known) if known and len(known) == len(values) else None
        return Performance(mean=mean, relative=mean / clean if mean is not None and clean else None)

    of = {name: performance([value_of.get(set_id) for set_id in _severities(name)]) for name in over}
    families: dict[str, list[float | None]] = {family: [] for family in (*FAMILIES, "other")}
    for name, one in of.items():
        families[FAMILY_OF.get(name, "other")].append(one.mean)
    whole = performance([one.mean for one in of.values()])
    loss = None
    if clean and tests and value_of.keys() >= set(tests):
        loss = flag * float(rb_index(np.array(clean), [np.array(value_of[set_id]) for set_id in tests]))
    needed = [CLEAN, *(set_id for name in over for set_id in _severities(name))]
    return MetricScores(
        clean=clean,
        mpc=whole.mean,
        rpc=whole.relative,
        rb_index=loss,
        rb_sets=len(tests),
        families={family: performance(means) for family, means in families.items() if means},
        corruptions=of,
        missing=[set_id for set_id in needed if set_id not in value_of],
    )


def _read(where: str, path: Path) -> Any:
    """Return the object in a JSON file, or the rows of a CSV file."""
    try:
        text = read_text(path, MAX_TABLE_BYTES)
    except OSError as e:
        raise ScoreError(f"{where} cannot be read: {reason(e)}.") from None
    if path.suffix.lower() != ".csv":
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as e:
            raise ScoreError(
                f"{where} is not JSON: {e}. Expected a CSV (.csv) or JSON file as in docs/detection.md."
            ) from None
    head, *lines = [*filter(None, csv.reader(text.splitlines()))] or [[]]
    key = next((name for name in SET_COLUMNS if name in head), None)
    if key is None or len(head) < 2 or len(set(head)) < len(head):
        raise ScoreError(
            f"{where} has the columns {', '.join(head) or 'none'}; expected a column named set, and one column per "
            "metric, each with a different name."
        )
    rows, problems = list[tuple[str, dict[str, str]]](), list[str]()
    for line, cells in enumerate(lines, 2):
        row = {name: cell.strip() for name, cell in zip(head, cells, strict=False) if cell.strip()}
        if key not in row or len(cells) > len(head):
            problems.append(f"line {line}: has no set id, or more cells than columns")
        else:
            rows.append((row.pop(key), row))
    if problems:
        raise ScoreError(problems_message(where, problems))
    return rows


def _check_values(where: str, values: Any) -> Metrics:
    """Return the metrics by set id. Raise ScoreError with a list of all values that are not finite numbers."""
    of_csv = isinstance(values, list) and all(isinstance(row, tuple) for row in values)
    if not values or not (of_csv or isinstance(values, Mapping)):
        raise ScoreError(
            f"{where} contains no sets; expected set id -> metric -> value, such as {{'fog/3': {{'AP': 0.31}}}}."
        )
    if "schema_version" in values:
        raise ScoreError(f"{where} is a scores file, not a table. Pass scores.json to `corruptset compare`.")
    problems, sets = [], dict[str, Mapping[str, float]]()
    for set_id, metrics in values if of_csv else _flatten(values):
        if set_id in sets and sets[set_id] != metrics:
            problems.append(f"{set_id}: occurs twice with different values")
        sets[set_id] = metrics
    try:
        valid = METRICS.validate_python(sets, strict=not of_csv)
    except ValidationError as e:
        problems += field_errors(e)
    if problems:
        raise ScoreError(problems_message(where, problems))
    return valid


def _flatten(values: Mapping[Any, Any]) -> Iterator[tuple[str, Any]]:
    """Yield set ids with their metrics. The names of grouped metrics begin with the group, for example ``bbox AP``."""
    for name, inner in values.items():
        nested = isinstance(inner, Mapping) and inner and all(str(key).isdecimal() for key in inner)
        for severity, metrics in inner.items() if nested else [(None, inner)]:
            flat = metrics
            if isinstance(metrics, Mapping):
                flat = {str(key): value for key, value in metrics.items() if not isinstance(value, Mapping)}
                for kind in [key for key in metrics if key not in flat]:
                    flat |= {f"{kind} {metric}": value for metric, value in metrics[kind].items()}
            yield str(name) if severity is None else CLEAN if str(severity) == "0" else f"{name}/{severity}", flat
