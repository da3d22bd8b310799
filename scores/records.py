"""The records of a scores file, as pydantic models.

Fractions are 0..1; a score that cannot be had is null, and `notes` says why.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, model_validator

from ..manifests.records.fields import Count, SetId, Sha256
from ..manifests.records.models import Record
from .tables import Column, Table, columns, data_frame

SCORES_VERSION = 1
"""Of a scores file."""


Interval = tuple[float, float] | None
"""Where 95 % of a score's values lie over resamples of the images."""
Fraction = Annotated[float, Field(ge=0, le=1)]
Rank = Annotated[float, Field(ge=0)]


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
"""The scores that are one number, as tables have them."""
SPREADS = ("two_factor.cv_percent", "two_factor.distinct_cv_percent", "style_gap")
"""Scores that noise makes larger, by their names in `intervals`."""
SHORT_SUMMARY = ("maude", "mce", "mean_accuracy", "rb_index", "style_gap")
TWO_FACTOR = ("mean_accuracy", "cv_percent", "distinct_mean_accuracy", "distinct_cv_percent")


class SetScore(Record):
    """The scores of one set."""

    n: Count
    """Images that count."""
    accuracy: Fraction
    top5: Fraction | None
    rank: Rank | None
    """Mean number of classes above the true one."""
    probability: Fraction | None
    """Mean probability of the true class."""
    interval: Interval
    """Of the accuracy."""


class FirstBelow(Record):
    """The first level at which the accuracy is below a threshold."""

    level: int
    change: str
    """What the level does, in words."""
    changed: Fraction | None
    """Fraction of pixels changed at this level, as the manifest has it."""


class Profile(Record):
    """A profile of one gradual degradation, or the mean of several."""

    levels: list[int]
    """Level 0 is the clean set."""
    accuracy: list[Fraction]
    rank: list[Rank] | None
    probability: list[Fraction] | None
    first_below: dict[str, FirstBelow | None]
    """By threshold: ``0.9``, ``0.5``, ``0.1``; null where the accuracy never falls below it."""

    @model_validator(mode="after")
    def _one_value_a_level(self) -> Profile:
        for name in ("accuracy", "rank", "probability"):
            values = getattr(self, name)
            if values is not None and len(values) != len(self.levels):
                raise ValueError(f"{name} has {len(values)} values for {len(self.levels)} levels")
        return self


class OrderEffect(Record):
    """A then B against B then A, on the same images."""

    first: SetId
    second: SetId
    difference: float
    """Accuracy of `first` less that of `second`."""
    interval: Interval


class TwoFactor(Record):
    """Means over all two-factor sets, clean included."""

    names: Count
    """Names counted, aliases as often as they stand."""
    distinct: Count
    """Sets."""
    mean_accuracy: Fraction
    cv_percent: float | None
    """100 times the population standard deviation over the mean."""
    mean_accuracy_interval: Interval
    cv_percent_interval: Interval
    distinct_mean_accuracy: Fraction
    distinct_cv_percent: float | None
    order_effects: list[OrderEffect]


class FragileRate(Record):
    """How often a small change flips what the model has right."""

    rate: Fraction
    """Of anchors, averaged over images: positive and negative together."""
    positive: Fraction
    """Anchors that are right where a neighbour is wrong."""
    negative: Fraction
    """Anchors that are wrong where a neighbour is right."""
    minimal: Annotated[float, Field(ge=0)] | None = None
    """Minimal images of an image, averaged over images: anchors that are positive. Null in files of older releases."""
    interval: Interval
    """Of the rate, over resamples of the source images."""
    anchors: Count


class Fragile(Record):
    """The fragile rates of regions of one size."""

    loose_shift: FragileRate | None
    strict_shift: FragileRate | None
    loose_shrink: FragileRate | None
    strict_shrink: FragileRate | None
    label_change_shift: FragileRate | None
    """The predicted label changes, right or wrong."""


class WorstCase(Record):
    """Over several sets."""

    sets: Count
    share: Fraction
    """Of the images: those that are right under every set."""
    interval: Interval
    mean_accuracy: Fraction
    """Over the same sets."""
    loss: Annotated[float, Field(ge=0)] | None = Field(default=None, exclude_if=lambda loss: loss is None)
    """Of the sets within an attack's radius: the mean over images of the greatest -ln p of the true class."""


class Resamples(Record):
    """Scores in each resample of the images, by which `compare` holds models against each other."""

    seed: Count
    units: Count
    values: dict[str, list[float]]
    """By a score's name, as in `intervals`: one value a resample. A score without a value in one is left out."""

    @model_validator(mode="after")
    def _equally_many(self) -> Resamples:
        lengths = {len(values): name for name, values in self.values.items()}
        if len(lengths) > 1:
            raise ValueError(
                f"has {', '.join(f'{n:,} values of {name}' for n, name in lengths.items())}; expected as many of each"
            )
        return self


class Scores(Record):
    """A scores file."""

    schema_version: Annotated[int, Field(ge=SCORES_VERSION, le=SCORES_VERSION)]
    digest: Sha256
    """Of the data set."""
    name: str
    """Of the data set, and its version."""
    model: str
    samples: Count
    condition: str | None
    sets: dict[SetId, SetScore]
    families: dict[str, Fraction]
    """Mean accuracy of the sets to test on of a family of ImageNet-C's corruptions."""
    aude: dict[str, float]
    maude: float | None
    relative_maude: float | None
    ce: dict[str, float]
    mce: float | None
    relative_ce: dict[str, float]
    relative_mce: float | None
    baseline: str | None
    profiles: dict[str, Profile]
    mean_profile: Profile | None
    two_factor: TwoFactor | None
    mean_accuracy: Fraction | None
    """Over the sets to test on but clean."""
    rb_index: float | None
    """How much of the clean accuracy is lost on them, on average."""
    worst_case: dict[str, WorstCase] = {}
    """Over ``all`` sets to test on, each family, each corruption, and within each radius (``pgd within 4``)."""
    fragile: dict[str, Fragile]
    style: dict[str, Fraction]
    """Accuracy of each group of samples on the clean set (or the only set)."""
    style_gap: Fraction | None
    """The best group's accuracy less the worst's."""
    intervals: dict[str, Interval]
    """By where a score of one number stands: ``maude``, ``two_factor.cv_percent`` ...; and ``clean_accuracy``."""
    resamples: Resamples | None
    notes: list[str]

    @property
    def clean(self) -> float | None:
        """Accuracy on the clean images."""
        return self.sets["clean"].accuracy if "clean" in self.sets else None

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each set, its interval as `low` and `high`."""
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
            pandas is not installed.
        """
        return data_frame(self.rows()).set_index("set")

    def numbers(self) -> dict[str, float]:
        """Return the scores that are one number each, by their names in `intervals`."""
        found: dict[str, float | None] = {"clean_accuracy": self.clean}
        found |= {name: getattr(self, name) for name in SUMMARY if name in type(self).model_fields}
        found |= {f"two_factor.{name}": getattr(self.two_factor, name, None) for name in TWO_FACTOR}
        for group, rates in self.fragile.items():
            found |= {f"fragile.{group}.{name}": rate.rate for name, rate in rates if rate is not None}
        return {name: number for name, number in found.items() if number is not None}

    def __repr__(self) -> str:
        numbers = self.numbers()
        known = [f"{name} {numbers[name]:.4f}" for name in SHORT_SUMMARY if name in numbers]
        said = ", ".join([f"{len(self.sets)} sets", *known, f"{len(self.notes)} notes"])
        return f"<Scores of {self.model} on {self.name}: {said}>"

    __str__ = __repr__

    def _repr_html_(self) -> str:
        numbers = self.numbers()
        rows = [
            [column.heading, column.shown(numbers[name]), column.between(*self.intervals.get(name) or ()) or None]
            for name, column in SUMMARY.items()
            if name in numbers
        ]
        title = f"{self.model} on {self.name}, {len(self.sets)} sets of {self.samples} images"
        return Table("summary", title, columns("text", "score", "value", "95 % interval"), rows)._repr_html_()
