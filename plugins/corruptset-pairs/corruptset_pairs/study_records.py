"""Define the records of a study: its key, participants' answers, and scores. Fractions range from 0 to 1."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from corruptset.manifests.records.fields import Count, SetId, Sha256
from corruptset.manifests.records.models import Record
from corruptset.scores.records import Fraction, Interval

STUDY_VERSION = 1
"""The version of the format of key and answer files."""

Version = Annotated[int, Field(ge=STUDY_VERSION, le=STUDY_VERSION)]
Group = Literal["A", "B"]
Kind = Literal["pairs", "levels"]
Change = Literal["shift", "shrink"]


class Trial(Record):
    """An image that is shown to the participants in one group."""

    id: str
    group: Group
    unit: Count
    """The number of the pair, or of the source image in a study of levels. The bootstrap resamples these units."""
    source: str
    """The id of the source image."""
    sample: str
    set: SetId
    category: str
    """The right answer."""
    member: Literal["anchor", "partner"] | None = None
    """In a study of pairs, "anchor" for the original region, or "partner" for the shifted or shrunk region."""
    change: Change | None = None
    right: bool | None = None
    """Whether the model classifies this member of a pair correctly. Null without predictions."""
    confidence: Fraction | None = None
    """The model's probability of the true class for this member of a pair. Null if the predictions lack it.
    """
    corruption: str | None = None
    level: Count | None = None
    """The level of a gradual degradation. Level 0 is the clean image."""


class StudyKey(Record):
    """The images of a study with the right answers. Only the person who runs the study should have the key."""

    schema_version: Version
    study: Sha256
    """A hash of everything that participants see: the images, answers, instructions and enlargement."""
    kind: Kind
    digest: Sha256
    """The digest of the dataset."""
    name: str
    """The name and the version of the dataset."""
    model: str | None
    seed: Count
    categories: list[str]
    classes: Count
    """The number of classes in the dataset. A model chooses one of these classes."""
    enlargement: Count
    smooth: bool
    trials: list[Trial]
    model_accuracy: dict[str, dict[str, float]]
    """The model's accuracy by corruption and level, if this is a study of levels with a scores file."""

    def __repr__(self) -> str:
        return (
            f"<StudyKey of {self.kind} of {self.name}: {len(self.trials)} images, {len(self.categories)} "
            f"answers, {self.study}>"
        )

    __str__ = __repr__


class Answer(Record):
    """A participant's answer to one image."""

    trial: str
    order: Count
    """The position of the image in the sequence that the participant saw, counted from 1."""
    answer: str | None
    """A category, or null for "I cannot tell"."""
    ms: Count
    """The time in milliseconds from the display of the image to the answer."""


class AnswerSheet(Record):
    """The file that the browser saves for one participant."""

    schema_version: Version
    study: Sha256
    person: Annotated[str, Field(min_length=1, max_length=100)]
    group: Group
    started: Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,3})?Z$")]
    finished: bool
    pixel_ratio: float
    """The number of screen pixels per page pixel. If it is not a whole number, enlarged pixels differ in size."""
    answers: list[Answer]


class Rate(Record):
    """The accuracy of the participants on some of the images."""

    answers: Count
    accuracy: Fraction | None
    """The fraction of participants who gave the right answer, averaged over images. Null without answers."""
    interval: Interval
    cannot_tell: Fraction | None
    """The fraction of answers that are "I cannot tell". These answers count as wrong."""
    median_ms: float | None


class Gap(Record):
    """The difference in accuracy between the two members of pairs."""

    pairs: Count
    """The number of pairs with answers to both members."""
    difference: float | None
    """The mean over pairs of the difference between the two members. With a model, the member that it classifies
    incorrectly is subtracted from the other member. Without a model, the partner is subtracted from the anchor.
    """
    interval: Interval


class PeopleBelow(Record):
    """The first level at which the accuracy of the participants is below a threshold."""

    level: Count | None
    """The level, or null if the accuracy is never below the threshold."""
    interval: tuple[Count | None, Count | None]
    """The 95 % confidence interval, in which null means "never"."""


class PeopleProfile(Record):
    """The accuracy of the participants at each level of one gradual degradation, or of all of them."""

    levels: list[int]
    """The levels that have answers. Level 0 is the clean image."""
    rates: list[Rate]
    first_below: dict[str, PeopleBelow]
    """The first level at which the accuracy is below each of the thresholds ``0.9``, ``0.5`` and ``0.1``."""
    model_accuracy: list[Fraction | None] | None
    """The model's accuracy at the same levels, over all images in the dataset."""
    model_first_below: dict[str, int | None] | None
    """The first level at which the model's accuracy is below each threshold, among all levels in its scores."""


class Refusal(Record):
    """An answer file that is excluded from the scores, with the reason."""

    file: str
    reason: str


class PeopleScores(Record):
    """The scores of the participants in a study."""

    schema_version: Version
    study: Sha256
    digest: Sha256
    name: str
    model: str | None
    kind: Kind
    people: dict[str, Count]
    """The number of scored participants, by group."""
    answers: Count
    unfinished: Count
    """The number of participants who stopped early. Their answers are excluded unless they were requested."""
    chance: Fraction
    """The accuracy of random answers: one divided by the number of possible answers."""
    members: dict[str, Rate]
    """The accuracy on each member of pairs: ``right`` and ``wrong`` with a model, or ``anchor`` and ``partner``."""
    gap: Gap | None
    confidence_gap: Gap | None
    """The difference in the model's probability of the true class, between the member that it classifies correctly and
    the other member. Only pairs with answers to both members are used."""
    gaps: dict[str, Gap]
    """The gap over the pairs with each change: ``shift`` and ``shrink``."""
    profiles: dict[str, PeopleProfile]
    """The profile of each degradation."""
    mean_profile: PeopleProfile | None
    """The profile over the images of all degradations together."""
    clusters: str
    """The units that the bootstrap resamples."""
    refused: list[Refusal]
    notes: list[str]

    def __repr__(self) -> str:
        people = (
            f"{sum(self.people.values())} participants, {self.answers:,} answers, {len(self.refused)} excluded files, "
            f"{len(self.notes)} notes"
        )
        return f"<PeopleScores of {self.kind} of {self.name}: {people}>"

    __str__ = __repr__
