"""Files of answers: which of them count, and why the others do not."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from corruptset.errors import StudyError
from corruptset.files import read_regular, reason
from corruptset.manifests.records.parsing import R, record_or_mistakes

from .study_records import AnswerSheet, Refusal, StudyKey

MOST_BYTES = 16 << 20
"""Of a key, and of one person's answers."""
KEY_NAMES = "*-key.json"


@dataclass(frozen=True)
class AnswerFiles:
    """The sheets that count, and what was left out."""

    sheets: list[AnswerSheet]
    unfinished: int
    refused: list[Refusal]


def read_key(path: str | Path) -> StudyKey:
    """Read the key of a study, or the only one in a folder.

    Raises
    ------
    StudyError
        It cannot be read, is no key, or a folder has none or several.
    """
    file = Path(path)
    if file.is_dir():
        found = sorted(file.glob(KEY_NAMES))
        if len(found) != 1:
            raise StudyError(
                f"{file} has {len(found)} files {KEY_NAMES}: name the key that `corruptset pairs-sheet` wrote beside "
                "its page."
            )
        (file,) = found
    try:
        return _read(StudyKey, file)
    except StudyError as e:
        raise StudyError(
            f"The key {file} {e}. `corruptset pairs-sheet` writes it beside its page, as pairs-key.json; it comes "
            "first, then the files of answers."
        ) from None


def read_answers(key: StudyKey, paths: Iterable[str | Path], *, unfinished: bool) -> AnswerFiles:
    """Read files of answers, and folders of them; each person counts once.

    Parameters
    ----------
    key : StudyKey
    paths : iterable of path
        Of a folder every ``.json`` file but keys.
    unfinished : bool
        Take the answers of people who stopped, too.
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
    # whoever sees the pictures again knows them: the sheet that was begun first counts
    for name, sheet in sorted(read.items(), key=lambda one: (one[1].started, one[0])):
        before = first.setdefault(_person(sheet), name)
        if before != name:
            again = (
                f"is the same as {before}"
                if read[before] == sheet
                else f"is of {sheet.person!r}, who began {before} earlier"
            )
            refused[name] = again
    stopped = [name for name in first.values() if not read[name].finished]
    for name in () if unfinished else stopped:
        sheet = read[name]
        refused[name] = f"is not finished: {len(sheet.answers)} of {len(_shown(sheet, key))} answers"
    return AnswerFiles(
        sorted((sheet for name, sheet in read.items() if name not in refused), key=_person),
        len(stopped),
        [Refusal(file=name, reason=why) for name, why in sorted(refused.items())],
    )


def _person(sheet: AnswerSheet) -> str:
    return sheet.person.strip().casefold()


def _shown(sheet: AnswerSheet, key: StudyKey) -> set[str]:
    """Return the pictures of a person's group."""
    return {trial.id for trial in key.trials if trial.group == sheet.group}


def _read(model: type[R], file: Path) -> R:
    """Return the record that a file holds; StudyError says why it does not."""
    try:
        record, mistakes = record_or_mistakes(model, read_regular(file, MOST_BYTES))
    except OSError as e:
        raise StudyError(f"cannot be read: {reason(e)}") from None
    if record is None:
        raise StudyError(f"is damaged, or another file: {'; '.join(mistakes[:3])}")
    return record


def _answers(file: Path, key: StudyKey) -> AnswerSheet:
    """Return a person's answers; StudyError says why they do not count."""
    sheet = _read(AnswerSheet, file)
    if sheet.study != key.study:
        raise StudyError(f"is of another study: {sheet.study}")
    shown, answered = _shown(sheet, key), [answer.trial for answer in sheet.answers]
    if not shown.issuperset(answered) or len(set(answered)) < len(answered):
        raise StudyError(f"is damaged: its pictures are not those of group {sheet.group}, each once")
    if not {answer.answer for answer in sheet.answers} <= {*key.categories, None}:
        raise StudyError("is damaged: it has an answer that the page does not offer")
    in_order = [answer.order for answer in sheet.answers] == [*range(1, len(answered) + 1)]
    if not in_order or sheet.finished != (len(answered) == len(shown)):
        raise StudyError("is damaged: its answers are not numbered, or it is not finished where it says so")
    return sheet
