"""Read the key and the answer files of a study, and exclude files that cannot be scored."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from corruptset.errors import StudyError
from corruptset.files import read_regular, reason
from corruptset.manifests.records.parsing import R, parse_record

from .study_records import AnswerSheet, Refusal, StudyKey

MAX_BYTES = 16 << 20
"""The maximum size in bytes of a key file and of an answer file."""
KEY_NAMES = "*-key.json"


@dataclass(frozen=True)
class AnswerFiles:
    """The answers to score, with one answer sheet per participant, and the files that were excluded."""

    sheets: list[AnswerSheet]
    unfinished: int
    refused: list[Refusal]


def read_key(path: str | Path) -> StudyKey:
    """Read the key of a study from a file, or from a folder that contains exactly one key.

    Raises
    ------
    StudyError
        If the file cannot be read or is not a key, or if the folder does not contain exactly one key.
    """
    file = Path(path)
    if file.is_dir():
        found = sorted(file.glob(KEY_NAMES))
        if len(found) != 1:
            raise StudyError(
                f"The folder {file} has {len(found)} files that match {KEY_NAMES}. Name the key file that `corruptset "
                "pairs-sheet` wrote next to its page."
            )
        (file,) = found
    try:
        return _read(StudyKey, file)
    except StudyError as e:
        raise StudyError(
            f"The key {file} {e}. Name the key first and then the files of answers. `corruptset pairs-sheet` writes "
            "the key next to its page, for example as pairs-key.json."
        ) from None


def read_answers(key: StudyKey, paths: Iterable[str | Path], *, unfinished: bool) -> AnswerFiles:
    """Read answer files, and keep one answer sheet per participant.

    Parameters
    ----------
    key : StudyKey
        The key of the study that the answers must belong to.
    paths : iterable of path
        Answer files, or folders. In a folder, all ``.json`` files except keys are read.
    unfinished : bool
        Include the answers of participants who stopped early.
    """
    read: dict[str, AnswerSheet] = {}
    refused: dict[str, str] = {}
    for path in map(Path, paths):
        for file in sorted({*path.glob("*.json")} - {*path.glob(KEY_NAMES)}) if path.is_dir() else [path]:
            try:
                read[str(file)] = _answers(file, key)
            except StudyError as e:
                refused[str(file)] = str(e)
    first: dict[str, str] = {}
    # A participant who repeats the study has already seen the images, so only the first attempt is scored.
    for name, sheet in sorted(read.items(), key=lambda one: (one[1].started, one[0])):
        before = first.setdefault(_person(sheet), name)
        if before != name:
            refused[name] = (
                f"is the same as {before}"
                if read[before] == sheet
                else f"is a repetition by {sheet.person!r}, who began {before} earlier"
            )
    stopped = [name for name in first.values() if not read[name].finished]
    for name in () if unfinished else stopped:
        sheet = read[name]
        refused[name] = f"is unfinished, with {len(sheet.answers)} of {len(_shown(sheet, key))} answers"
    return AnswerFiles(
        sorted((sheet for name, sheet in read.items() if name not in refused), key=_person),
        len(stopped),
        [Refusal(file=name, reason=why) for name, why in sorted(refused.items())],
    )


def _person(sheet: AnswerSheet) -> str:
    return sheet.person.strip().casefold()


def _shown(sheet: AnswerSheet, key: StudyKey) -> set[str]:
    """Return the ids of the images that the participant's group sees."""
    return {trial.id for trial in key.trials if trial.group == sheet.group}


def _read(model: type[R], file: Path) -> R:
    """Return the record in a file. Raise `StudyError` with a reason if it cannot be read."""
    try:
        record, mistakes = parse_record(model, read_regular(file, MAX_BYTES))
    except OSError as e:
        raise StudyError(f"cannot be read: {reason(e)}") from None
    if record is None:
        raise StudyError(f"is damaged or has a different format: {'; '.join(mistakes[:3])}")
    return record


def _answers(file: Path, key: StudyKey) -> AnswerSheet:
    """Return a participant's answers. Raise `StudyError` with a reason if they cannot be scored."""
    sheet = _read(AnswerSheet, file)
    if sheet.study != key.study:
        raise StudyError(f"belongs to another study: {sheet.study}")
    shown, answered = _shown(sheet, key), [answer.trial for answer in sheet.answers]
    if not shown.issuperset(answered) or len(set(answered)) < len(answered):
        raise StudyError(f"is damaged: it repeats an image, or has an image that group {sheet.group} does not see")
    if not {answer.answer for answer in sheet.answers} <= {*key.categories, None}:
        raise StudyError("is damaged: it has an answer that the page does not offer")
    in_order = [answer.order for answer in sheet.answers] == [*range(1, len(answered) + 1)]
    if not in_order or sheet.finished != (len(answered) == len(shown)):
        raise StudyError(
            "is damaged: its answers are not numbered in order, or their number contradicts the field 'finished'"
        )
    return sheet
