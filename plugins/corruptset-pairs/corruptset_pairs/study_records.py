"""Define the records of a study: its key, the answers of a participant, and the scores. Fractions range from 0 to 1."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from corruptset.manifests.records.fields import Count, SetId, Sha256
from corruptset.manifests.records.models import Record
from corruptset.scores.records import Fraction, Interval

STUDY_VERSION = 1
"""The version of the format of keys and answers."""

Version = Annotated[int, Field(ge=STUDY_VERSION, le=STUDY_VERSION)]
Group = Literal["A", "B"]
Kind = Literal["pairs", "levels"]
Change = Literal["shift", "shrink"]


class Trial(Record):
    """One image that is shown to the participants of one group."""

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
    """In a study of pairs, "anchor" for the original region and "partner" for the shifted or shrunk one."""
    change: Change | None = None
    right: bool | None = None
    """Whether the model classifies this member of a pair correctly. Null without predictions."""
    confidence: Fraction | None = None
    """The model's probability of the true class for this member of a pair. Null if the predictions have none."""
    corruption: str | None = None
    level: Count | None = None
    """The level of a gradual degradation. Level 0 is the clean image."""


class StudyKey(Record):
    """The images of a study with the right answers, which only the person who runs the study should have."""

    schema_version: Version
    study: Sha256
    """A hash of everything that participants see, namely the images, answers, instructions and enlargement."""
    kind: Kind
    digest: Sha256
    """The digest of the dataset."""
    name: str
    """The name and the version of the dataset."""
    model: str | None
    seed: Count
    categories: list[str]
    classes: Count
    """The number of classes of the dataset, from which a model chooses."""
    enlargement: Count
    smooth: bool
    trials: list[Trial]
    model_accuracy: dict[str, dict[str, float]]
    """The model's accuracy by corruption and level, in a study of levels with a scores file."""

    def __repr__(self) -> str:
        return (
            f"<StudyKey of {self.kind} of {self.name}: {len(self.trials)} images, {len(self.categories)} "
            f"answers, {self.study}>"
        )

    __str__ = __repr__


class Answer(Record):
    """The answer of a participant to one image."""

    trial: str
    order: Count
    """The position of the image in the sequence that this participant saw, counted from 1."""
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
    """The number of screen pixels per pixel of the page. If it is not whole, enlarged pixels differ in size."""
    answers: list[Answer]


class Rate(Record):
    """The accuracy of the participants on some of the images."""

    answers: Count
    accuracy: Fraction | None
    """The fraction of participants with the right answer, averaged over images. Null without answers."""
    interval: Interval
    cannot_tell: Fraction | None
    """The fraction of answers that are "I cannot tell", which count as wrong."""
    median_ms: float | None


class Gap(Record):
    """The difference in accuracy between the two members of pairs."""

    pairs: Count
    """The number of pairs with answers to both members."""
    difference: float | None
    """The mean over pairs of the value for the member that the model classifies correctly minus the value for the
    other member. Without a model, the value for the partner is subtracted from that for the anchor.
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
    """The first level with an accuracy below each of the thresholds ``0.9``, ``0.5`` and ``0.1``."""
    model_accuracy: list[Fraction | None] | None
    """The model's accuracy at the same levels, over all images of the dataset."""
    model_first_below: dict[str, int | None] | None
    """The first levels of the model, over all levels in its scores."""


class Refusal(Record):
    """A file of answers that is excluded from the scores, with the reason."""

    file: str
    reason: str


class PeopleScores(Record):
    """The scores of the participants of a study."""

    schema_version: Version
    study: Sha256
    digest: Sha256
    name: str
    model: str | None
    kind: Kind
    people: dict[str, Count]
    """The number of participants that are scored, by group."""
    answers: Count
    unfinished: Count
    """The number of unfinished sheets, which are excluded unless they were requested."""
    chance: Fraction
    """The accuracy of random answers, which is one divided by the number of possible answers."""
    members: dict[str, Rate]
    """The accuracy on both members of pairs: ``right`` and ``wrong`` for the model, or ``anchor`` and ``partner``."""
    gap: Gap | None
    confidence_gap: Gap | None
    """The difference of the model's probabilities of the true class between the member that it classifies correctly and
    the other member, over the pairs with answers to both members."""
    gaps: dict[str, Gap]
    """The gap for each change of pairs, ``shift`` and ``shrink``."""
    profiles: dict[str, PeopleProfile]
    """The profile of each degradation."""
    mean_profile: PeopleProfile | None
    """The profile over the images of all degradations."""
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
