"""Files of answers: which of them count, and why the others do not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from corruptset.errors import StudyError, listed
from corruptset.files import read_regular, reason
from corruptset.manifests.records.parsing import record_or_mistakes

from .study_records import AnswerSheet, Refusal, StudyKey

MOST_BYTES = 16 << 20
"""Of a key, and of one person's answers."""
KEY_NAMES = "*-key.json"


@dataclass(frozen=True)
class AnswerFiles:
    """The sheets that count, and what was left out."""

    sheets: Sequence[AnswerSheet]
    unfinished: int
    refused: Sequence[Refusal]


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
                f"{file} has {len(found)} files {KEY_NAMES}: name the key that `corruptset pairs-sheet` wrote beside its page."
            )
        (file,) = found
    try:
        key, mistakes = record_or_mistakes(StudyKey, read_regular(file, MOST_BYTES))
    except OSError as e:
        raise StudyError(
            f"The key {file} cannot be read: {reason(e)}. `corruptset pairs-sheet` writes it beside its page, as pairs-key.json."
        ) from None
    if key is None:
        raise StudyError(f"{file} is not the key of a study:\n{listed(mistakes, 10)}\nThe key comes first, then the files of answers.")
    return key


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
    read: list[tuple[Path, AnswerSheet]] = []
    refused: list[Refusal] = []
    for file in _files(paths):
        sheet, why = _read(file, key)
        if sheet is None:
            refused.append(Refusal(file=str(file), reason=why))
        else:
            read.append((file, sheet))
    first: dict[str, tuple[Path, AnswerSheet]] = {}
    # whoever sees the pictures again knows them: the sheet that was begun first counts
    for file, sheet in sorted(read, key=lambda one: (one[1].started, str(one[0]))):
        before = first.setdefault(_person(sheet), (file, sheet))
        if before[0] != file:
            again = f"is the same as {before[0]}" if before[1] == sheet else f"is of {sheet.person!r}, who began {before[0]} earlier"
            refused.append(Refusal(file=str(file), reason=again))
    stopped = [(file, sheet) for file, sheet in first.values() if not sheet.finished]
    if not unfinished:
        of_all = {group: sum(trial.group == group for trial in key.trials) for group in ("A", "B")}
        refused += [
            Refusal(file=str(file), reason=f"is not finished: {len(sheet.answers)} of {of_all[sheet.group]} answers")
            for file, sheet in stopped
        ]
    sheets = [sheet for _, sheet in first.values() if sheet.finished or unfinished]
    return AnswerFiles(sorted(sheets, key=_person), len(stopped), sorted(refused, key=lambda one: one.file))


def _files(paths: Iterable[str | Path]) -> list[Path]:
    files: list[Path] = []
    for path in map(Path, paths):
        keys = set(path.glob(KEY_NAMES))
        files += [file for file in sorted(path.glob("*.json")) if file not in keys] if path.is_dir() else [path]
    return list(dict.fromkeys(files))


def _person(sheet: AnswerSheet) -> str:
    return sheet.person.strip().casefold()


def _read(file: Path, key: StudyKey) -> tuple[AnswerSheet | None, str]:
    """Return a person's answers, or None and why they do not count."""
    try:
        sheet, mistakes = record_or_mistakes(AnswerSheet, read_regular(file, MOST_BYTES))
    except OSError as e:
        return None, f"cannot be read: {reason(e)}"
    if sheet is None:
        return None, f"is damaged, or no file of answers: {'; '.join(mistakes[:3])}"
    if sheet.study != key.study:
        return None, f"is of another study: {sheet.study}"
    problems = _problems(sheet, key)
    return (None, f"is damaged: {'; '.join(problems[:3])}") if problems else (sheet, "")


def _problems(sheet: AnswerSheet, key: StudyKey) -> list[str]:
    """Return what cannot be in a file that the study's page saved."""
    shown = {trial.id for trial in key.trials if trial.group == sheet.group}
    answered = Counter(answer.trial for answer in sheet.answers)
    problems = [f"picture {trial} is not of group {sheet.group}" for trial in answered if trial not in shown]
    problems += [f"picture {trial} is answered {times} times" for trial, times in answered.items() if times > 1]
    problems += [f"there is no answer {a.answer!r}" for a in sheet.answers if a.answer is not None and a.answer not in key.categories]
    if [answer.order for answer in sheet.answers] != list(range(1, len(sheet.answers) + 1)):
        problems.append("the answers are not in the order of the pictures")
    if sheet.finished != (len(sheet.answers) == len(shown)):
        problems.append(f"it says finished: {str(sheet.finished).lower()}, with {len(sheet.answers)} of {len(shown)} answers")
    return problems
