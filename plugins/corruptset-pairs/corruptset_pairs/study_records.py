"""The records of a study with people: its key, the answers of one person, and what all answers come to. Fractions are
0..1.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from corruptset.manifests.records.fields import Count, SetId, Sha256
from corruptset.manifests.records.models import Record
from corruptset.scores.records import Fraction, Interval

STUDY_VERSION = 1
"""Of keys and of answers."""

Version = Annotated[int, Field(ge=STUDY_VERSION, le=STUDY_VERSION)]
Group = Literal["A", "B"]
Kind = Literal["pairs", "levels"]
Change = Literal["shift", "shrink"]


class Trial(Record):
    """One picture that the people of one group are shown."""

    id: str
    group: Group
    unit: Count
    """Of the pair, or, in a study of levels, of the source image: what is drawn anew in the bootstrap."""
    source: str
    """The id of the source image."""
    sample: str
    set: SetId
    category: str
    """The right answer."""
    member: Literal["anchor", "partner"] | None = None
    """Of a pair: the region itself, or the shifted or shrunk one."""
    change: Change | None = None
    right: bool | None = None
    """Of a pair: whether the model has this member right; null without predictions."""
    confidence: Fraction | None = None
    """Of a pair: the model's probability of the true class; null where its predictions have none."""
    corruption: str | None = None
    level: Count | None = None
    """Of a gradual degradation; 0 is the clean image."""


class StudyKey(Record):
    """What a sheet shows, with the right answers; it stays with whoever runs the study."""

    schema_version: Version
    study: Sha256
    """A hash of what people are shown: pictures, answers, text, enlargement."""
    kind: Kind
    digest: Sha256
    """Of the data set."""
    name: str
    """Of the data set, and its version."""
    model: str | None
    seed: Count
    categories: list[str]
    classes: Count
    """Of the data set: what a model chooses from."""
    enlargement: Count
    smooth: bool
    trials: list[Trial]
    model_accuracy: dict[str, dict[str, float]]
    """In a study of levels with a scores file: corruption -> level -> the model's accuracy."""

    def __repr__(self) -> str:
        return (
            f"<StudyKey of {self.kind} of {self.name}: {len(self.trials)} pictures, {len(self.categories)} "
            f"answers, {self.study}>"
        )

    __str__ = __repr__


class Answer(Record):
    """To one picture."""

    trial: str
    order: Count
    """The picture's place in what this person was shown."""
    answer: str | None
    """A category; null is "I cannot tell"."""
    ms: Count
    """From the picture to the answer."""


class AnswerSheet(Record):
    """What the browser saves for one person."""

    schema_version: Version
    study: Sha256
    person: Annotated[str, Field(min_length=1, max_length=100)]
    group: Group
    started: Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,3})?Z$")]
    finished: bool
    pixel_ratio: float
    """Pixels of the screen for one pixel of the page: with 1.25 or 1.5, enlarged pixels are not all of one size."""
    answers: list[Answer]


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
    """The mean over pairs: of the member that the model has right less the other; without a model, of the anchor less
    its partner.
    """
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

    schema_version: Version
    study: Sha256
    digest: Sha256
    name: str
    model: str | None
    kind: Kind
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
    confidence_gap: Gap | None
    """The model's, of the pairs with answers to both members: its probability of the true class on the member that it
    has right less that on the other."""
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
            f"{sum(self.people.values())} people, {self.answers:,} answers, {len(self.refused)} sheets refused, "
            f"{len(self.notes)} notes"
        )
        return f"<PeopleScores of {self.kind} of {self.name}: {people}>"

    __str__ = __repr__
