"""Records of a scores file: the score values, the sets, the profiles and the bootstrap resamples.

Fractions range from 0 to 1. A score that cannot be computed has the value null and a reason.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from ..manifests.records.fields import Count, SetId, Sha256
from ..manifests.records.models import Record
from .tables import Column, Table, columns, data_frame

SCORES_VERSION = 2

Interval = tuple[float, float] | None
"""The ends of a 95 % confidence interval from the bootstrap."""
Fraction = Annotated[float, Field(ge=0, le=1)]
Rank = Annotated[float, Field(ge=0)]
Unit = Literal["percent", "number"]

TITLES = {
    "clean_accuracy": "clean accuracy",
    "mean_accuracy": "mean accuracy",
    "maude": "mAUDE",
    "relative_maude": "relative mAUDE",
    "mce": "mCE",
    "relative_mce": "relative mCE",
    "two_factor.cv_percent": "CV %",
    "rb_index": "RB-index",
    "style_gap": "style gap",
    "two_factor.mean_accuracy": "mean accuracy over the names",
    "two_factor.distinct_mean_accuracy": "mean accuracy over the sets",
    "two_factor.distinct_cv_percent": "CV % over the sets",
    "aude": "AUDE",
    "ce": "CE",
    "relative_ce": "relative CE",
    "style": "accuracy",
    "worst_case": "correct on every set",
    "greatest_loss": "greatest loss",
    "fragile": "fragile",
}
"""The titles of scores, or of groups of scores, in tables."""
SUMMARY = (
    "clean_accuracy", "mean_accuracy", "maude", "relative_maude", "mce", "relative_mce", "two_factor.cv_percent",
    "rb_index", "style_gap",
)  # fmt: skip
"""The scores of the summary table, in the order of its columns."""
SPREADS = ("two_factor.cv_percent", "two_factor.distinct_cv_percent", "style_gap")
"""The scores that random errors make larger."""
NUMBERS = ("two_factor.cv_percent", "two_factor.distinct_cv_percent", "rb_index", "greatest_loss")
"""The scores, or groups of scores, that are not fractions."""
RATES = ("loose_shift", "strict_shift", "loose_shrink", "strict_shrink", "label_change_shift")
"""The fragile rates for each size of regions."""


class ScoreValue(Record):
    """A score with its confidence interval and the way in which it is printed."""

    name: str
    """The score, for example ``maude``. A score of a corruption, family or group has a dot, for example ``aude.fog``.
    """
    title: str
    """The name of the score in tables, for example ``mAUDE``."""
    value: float | None
    unit: Unit
    """``percent`` for a fraction that is printed as a percentage, ``number`` for other values."""
    interval: Interval
    """The 95 % confidence interval."""
    reason: str | None
    """The reason why there is no value. If there is a value, the reason why there is no interval."""
    count: Count | None = None
    """The number of sets of a mean or a worst case, or the number of anchors of a fragile rate."""

    @property
    def column(self) -> Column:
        """The column of a table that contains this score."""
        return Column(self.title, self.unit)

    def shown(self) -> str:
        """Return the value for a table, with its interval, or with the reason why the value or interval is missing."""
        details = self.column.between(*self.interval or ()) or self.reason
        return self.column.shown(self.value) + (f" ({details})" if details else "")


class SetScore(Record):
    """The scores of one set."""

    n: Count
    """The number of scored images."""
    accuracy: Fraction
    top5: Fraction | None
    """The top-5 accuracy. It is null if the dataset has fewer than six classes."""
    rank: Rank | None
    """The mean number of classes above the true one."""
    probability: Fraction | None
    """The mean probability of the true class."""
    interval: Interval
    """The 95 % confidence interval of the accuracy."""


class FirstBelow(Record):
    """The first level at which the accuracy is below a threshold."""

    level: int
    change: str
    """The description of the level."""
    changed: Fraction | None
    """The fraction of pixels that this level changes, from the manifest."""


class Profile(Record):
    """The profile of one gradual degradation, or the mean of several profiles."""

    levels: list[int]
    """The levels, where 0 is the clean set."""
    accuracy: list[Fraction]
    rank: list[Rank] | None
    probability: list[Fraction] | None
    first_below: dict[str, FirstBelow | None]
    """The first level below each threshold ``0.9``, ``0.5`` and ``0.1``, or null if the accuracy is never below it."""

    @model_validator(mode="after")
    def _one_value_per_level(self) -> Profile:
        for name in ("accuracy", "rank", "probability"):
            values = getattr(self, name)
            if values is not None and len(values) != len(self.levels):
                raise ValueError(f"{name} has {len(values)} values for {len(self.levels)} levels")
        return self


class OrderEffect(Record):
    """The effect of the order of two stages, measured on the same images."""

    first: SetId
    second: SetId
    difference: float
    """The accuracy on the set `first` minus the accuracy on the set `second`."""
    interval: Interval


class Resamples(Record):
    """The scores in each bootstrap resample, from which `compare` computes paired differences."""

    seed: Count
    units: Count
    """The number of images that each resample draws."""
    values: dict[str, list[float]]
    """A mapping from names of scores to their values in each resample. Scores without an interval are not included."""

    @model_validator(mode="after")
    def _equal_lengths(self) -> Resamples:
        lengths = {len(values): name for name, values in self.values.items()}
        if len(lengths) > 1:
            counts = ", ".join(f"{n:,} values of {name}" for n, name in lengths.items())
            raise ValueError(f"has {counts}; expected the same number of values for each score")
        return self


class Scores(Record):
    """The scores of a model on a dataset, as in the file scores.json."""

    schema_version: Annotated[int, Field(ge=SCORES_VERSION, le=SCORES_VERSION)]
    digest: Sha256
    """The digest of the dataset."""
    name: str
    """The name and version of the dataset."""
    model: str
    samples: Count
    """The number of samples in the dataset."""
    condition: str | None
    """The condition that a scored image fulfils, or null if all images are scored."""
    baseline: str | None
    """The model that corruption errors are relative to."""
    scores: list[ScoreValue]
    """All scores that are single numbers."""
    sets: dict[SetId, SetScore]
    profiles: dict[str, Profile]
    mean_profile: Profile | None
    order_effects: list[OrderEffect]
    resamples: Resamples | None
    notes: list[str]

    def __getitem__(self, name: str) -> ScoreValue:
        """Return a score by name, or raise KeyError."""
        for score in self.scores:
            if score.name == name:
                return score
        raise KeyError(f"{self.name} has no score {name!r}")

    def get(self, name: str) -> float | None:
        """Return the value of a score, or None if there is no such score or no value."""
        return next((score.value for score in self.scores if score.name == name), None)

    def interval(self, name: str) -> Interval:
        """Return the confidence interval of a score, or None."""
        return next((score.interval for score in self.scores if score.name == name), None)

    def group(self, name: str) -> dict[str, ScoreValue]:
        """Return the scores whose names begin with ``<name>.``, for example ``aude.``, by the rest of their names.

        The rest is the name of a corruption, a family of corruptions or a group of samples.
        """
        return {s.name[len(name) + 1 :]: s for s in self.scores if s.name.startswith(f"{name}.")}

    def values(self, group: str) -> dict[str, float]:
        """Return the values of the scores that `group` returns, without those that have no value."""
        return {name: score.value for name, score in self.group(group).items() if score.value is not None}

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each set, with the ends of its interval as `low` and `high`."""
        ends = {
            name: dict(zip(("low", "high"), one.interval or (None, None), strict=True))
            for name, one in self.sets.items()
        }
        return [{"set": name} | one.model_dump(exclude={"interval"}) | ends[name] for name, one in self.sets.items()]

    def to_pandas(self) -> Any:
        """Return a row for each set as a pandas DataFrame, indexed by set id.

        Raises
        ------
        ScoreError
            If pandas is not installed.
        """
        return data_frame(self.rows()).set_index("set")

    def summary(self) -> list[ScoreValue]:
        """Return the scores of the summary table, including those that have a reason instead of a value."""
        by_name = {score.name: score for score in self.scores}
        return [by_name[name] for name in SUMMARY if name in by_name]

    def __repr__(self) -> str:
        known = [f"{score.name} {score.value:.4f}" for score in self.summary() if score.value is not None]
        summary = ", ".join([f"{len(self.sets)} sets", *known, f"{len(self.notes)} notes"])
        return f"<Scores of {self.model} on {self.name}: {summary}>"

    __str__ = __repr__

    def _repr_html_(self) -> str:
        rows = [
            [s.column.heading, s.column.shown(s.value), s.column.between(*s.interval or ()) or s.reason]
            for s in self.summary()
        ]
        title = f"{self.model} on {self.name}, {len(self.sets)} sets of {self.samples} images"
        heads = columns("text", "score", "value", "95 % confidence interval")
        return Table("summary", title, heads, rows)._repr_html_()
