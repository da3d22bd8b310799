"""`pairs-score`: from people's answers to their gap between the members of pairs, or to their profile."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from corruptset.errors import StudyError, listed
from corruptset.scores.formulas import Estimate
from corruptset.scores.outcomes import CLEAN
from corruptset.scores.profiles import THRESHOLDS

from .answer_files import read_answers, read_key
from .people import CLUSTERS, People, Row
from .study_records import PeopleProfile, PeopleScores, StudyKey, Trial

FEW = 5
"""People below which an interval is said to be narrow by chance."""


def pairs_score(key: str | Path | StudyKey, answers: Iterable[str | Path], *, unfinished: bool = False, seed: int = 0) -> PeopleScores:
    """Return what people's answers to a sheet come to.

    Parameters
    ----------
    key : str, Path or StudyKey
        The key that `pairs_sheet` wrote beside the page, or a folder with one key.
    answers : iterable of str or Path
        Files that the page saved, or folders of them. Files of another study, damaged ones, and a person's second sheet do not count, and
        are listed in `refused`.
    unfinished : bool
        Let the answers of people who stopped count too.
    seed : int
        Of the resamples.

    Returns
    -------
    PeopleScores
        Intervals are the middle 95 % over 1,000 resamples of both people and images.

    Raises
    ------
    StudyError
        The key cannot be read, or no file of answers counts.

    References
    ----------
    Srivastava, Ben-Yosef & Boix 2019, "Minimal Images in Deep Neural Networks: Fragile Object Recognition in Natural Images", section 5:
    people and networks on the same pairs. People's gap is the difference of the shares who are right (`gap`), the model's the difference
    of its probabilities of the true class (`confidence_gap`), over the same pairs and the same resamples of pairs.
    """
    study = key if isinstance(key, StudyKey) else read_key(key)
    files = read_answers(study, answers, unfinished=unfinished)
    if not files.sheets:
        reasons = [f"{one.file} {one.reason}" for one in files.refused] or ["no files were given"]
        raise StudyError(
            f"None of the files of answers counts:\n{listed(reasons, 20)}\nGive the files that the page of study {study.study} saved."
        )
    people = People(study, files.sheets, seed)
    names = (
        () if study.kind == "levels" else ("right", "wrong") if any(t.right is not None for t in study.trials) else ("anchor", "partner")
    )
    members = {name: [row for row in people.rows if _member(row[1]) == name] for name in names}

    def differences(change: str | None = None) -> Estimate:
        better, worse = ([row for row in rows if change in (None, row[1].change)] for rows in members.values())
        return people.shares(better) - people.shares(worse)

    groups = {group: sum(sheet.group == group for sheet in files.sheets) for group in ("A", "B")}
    count = sum(groups.values())
    notes = []
    if count < FEW:
        notes.append(f"{count} {'person is' if count == 1 else 'people are'} few: resamples of so few make the intervals too narrow.")
    if members and 0 in groups.values():
        empty = "B" if groups["A"] else "A"
        notes.append(f"Nobody of group {empty} answered: no pair has answers to both of its members, so there is no gap.")
    if study.model_accuracy and study.classes > len(study.categories):
        notes.append(
            f"The model chose among {study.classes} classes, and people among {len(study.categories)} answers: its accuracy is lower by "
            "that alone."
        )
    shown = sorted({trial.corruption for trial in study.trials if trial.corruption is not None})
    return PeopleScores(
        **study.model_dump(include=set(PeopleScores.model_fields)),
        people=groups,
        answers=len(people.rows),
        unfinished=files.unfinished,
        chance=1 / len(study.categories),
        members={name: people.rate(rows) for name, rows in members.items()},
        gap=people.gap(differences()) if members else None,
        confidence_gap=people.confidence_gap(differences()) if "right" in members else None,
        gaps={change: people.gap(differences(change)) for change in sorted({t.change for t in study.trials if t.change is not None})},
        profiles={name: _profile(people, (name,)) for name in shown},
        mean_profile=None if members else _profile(people, shown),
        clusters=CLUSTERS,
        refused=files.refused,
        notes=notes,
    )


def _member(trial: Trial) -> str | None:
    """Return which member of its pair a picture is: for a model, or without one."""
    return trial.member if trial.right is None else "right" if trial.right else "wrong"


def _profile(people: People, corruptions: Sequence[str]) -> PeopleProfile:
    """Return people's accuracy at each level of some degradations, and the model's; the clean images are level 0 of each."""
    at: dict[int, list[Row]] = {}
    for row in people.rows:
        _, trial, _ = row
        if trial.level is not None and trial.corruption in (None, *corruptions):
            at.setdefault(trial.level, []).append(row)
    by_level = dict(sorted(at.items()))
    accuracies: dict[int, list[float]] = {}
    for name in (CLEAN, *corruptions):
        for level, accuracy in people.key.model_accuracy.get(name, {}).items():
            accuracies.setdefault(int(level), []).append(accuracy)
    model = {level: sum(values) / len(values) for level, values in sorted(accuracies.items())}
    return PeopleProfile(
        levels=list(by_level),
        rates=[people.rate(rows) for rows in by_level.values()],
        first_below=people.first_below(by_level),
        model_accuracy=[model.get(level) for level in by_level] if model else None,
        model_first_below={str(t): next((level for level in model if model[level] < t), None) for t in THRESHOLDS} if model else None,
    )
