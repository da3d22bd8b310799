"""The records of what people's answers come to. Fractions are 0..1."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ...manifests.records.fields import Count, Sha256
from ...manifests.records.models import Record
from ..records import Fraction, Interval
from .sheet_records import STUDY_VERSION


class Rate(Record):
    """How often people are right about some of the pictures."""

    answers: Count
    accuracy: Fraction | None
    """The mean over pictures of the share of people who are right; null where nobody answered."""
    interval: Interval
    cannot_tell: Fraction | None
    """The share of answers that are "I cannot tell", which count as wrong."""
    median_ms: float | None


class Gap(Record):
    """How much more often people are right about one member of a pair than about the other."""

    pairs: Count
    """With answers to both members."""
    difference: float | None
    """The mean over pairs: of the member that the model has right less the other; without a model, of the anchor less its partner."""
    interval: Interval


class PeopleBelow(Record):
    """The first level at which people's accuracy is below a threshold."""

    level: Count | None
    """Null where it never is."""
    interval: tuple[Count | None, Count | None]
    """The middle 95 % over the resamples; null is "never"."""


class PeopleProfile(Record):
    """Of people, on one gradual degradation or on all of them."""

    levels: list[int]
    """With answers; level 0 is the clean image."""
    rates: list[Rate]
    first_below: dict[str, PeopleBelow]
    """By threshold: ``0.9``, ``0.5``, ``0.1``."""
    model_accuracy: list[Fraction | None] | None
    """The model's at the same levels, over all images of the data set."""
    model_first_below: dict[str, int | None] | None
    """Over all levels that its scores have."""


class Refusal(Record):
    """A file of answers that does not count."""

    file: str
    reason: str


class PeopleScores(Record):
    """What the answers of a study come to."""

    schema_version: Annotated[int, Field(ge=STUDY_VERSION, le=STUDY_VERSION)]
    study: Sha256
    digest: Sha256
    name: str
    model: str | None
    kind: Literal["pairs", "levels"]
    people: dict[str, Count]
    """That count, by group."""
    answers: Count
    unfinished: Count
    """Sheets that somebody stopped: left out, unless they were asked for."""
    chance: Fraction
    """One over the number of answers."""
    members: dict[str, Rate]
    """Of pairs: ``right`` and ``wrong`` for the model, or ``anchor`` and ``partner``."""
    gap: Gap | None
    gaps: dict[str, Gap]
    """Of pairs, by change: ``shift``, ``shrink``."""
    profiles: dict[str, PeopleProfile]
    """By degradation."""
    mean_profile: PeopleProfile | None
    """Over the pictures of all degradations."""
    clusters: str
    """What the resamples draw anew."""
    refused: list[Refusal]
    notes: list[str]

    def __repr__(self) -> str:
        people = (
            f"{sum(self.people.values())} people, {self.answers:,} answers, {len(self.refused)} sheets refused, {len(self.notes)} notes"
        )
        return f"<PeopleScores of {self.kind} of {self.name}: {people}>"

    __str__ = __repr__
