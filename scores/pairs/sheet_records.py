"""The records of a study with people: its key, and the answers of one person."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ...manifests.records.fields import Count, SetId, Sha256
from ...manifests.records.models import Record

STUDY_VERSION = 1
"""Of keys and of answers."""

Version = Annotated[int, Field(ge=STUDY_VERSION, le=STUDY_VERSION)]
Group = Literal["A", "B"]
Change = Literal["shift", "shrink"]
TrialId = Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]


class Trial(Record):
    """One picture that the people of one group are shown."""

    id: TrialId
    group: Group
    unit: Count
    """Of the pair, or, in a study of levels, of the source image: what is drawn anew in the bootstrap."""
    source: str
    """The id of the source image."""
    sample: str
    set: SetId
    category: str
    """The right answer."""
    member: Literal["anchor", "partner"] | None
    """Of a pair: the region itself, or the shifted or shrunk one."""
    change: Change | None
    right: bool | None
    """Of a pair: whether the model has this member right; null without predictions."""
    corruption: str | None
    level: Count | None
    """Of a gradual degradation; 0 is the clean image."""


class StudyKey(Record):
    """What a sheet shows, with the right answers; it stays with whoever runs the study."""

    schema_version: Version
    study: Sha256
    """A hash of what people are shown: pictures, answers, text, enlargement."""
    kind: Literal["pairs", "levels"]
    digest: Sha256
    """Of the data set."""
    name: str
    """Of the data set, and its version."""
    model: str | None
    seed: Count
    categories: list[str]
    classes: Count
    """Of the data set: what a model chooses from."""
    enlargement: Annotated[int, Field(ge=1)]
    smooth: bool
    trials: list[Trial]
    model_accuracy: dict[str, dict[str, float]]
    """In a study of levels with a scores file: corruption -> level -> the model's accuracy."""

    def __repr__(self) -> str:
        return f"<StudyKey of {self.kind} of {self.name}: {len(self.trials)} pictures, {len(self.categories)} answers, {self.study}>"

    __str__ = __repr__


class Answer(Record):
    """To one picture."""

    trial: TrialId
    order: Annotated[int, Field(ge=1)]
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
    pixel_ratio: Annotated[float, Field(gt=0)]
    """Pixels of the screen for one pixel of the page: with 1.25 or 1.5, enlarged pixels are not all of one size."""
    answers: list[Answer]
