"""`pairs-score`: from people's answers to their gap between the members of pairs, or to their profile."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from corruptset.errors import StudyError, listed
from corruptset.scores.outcomes import CLEAN
from corruptset.scores.profiles import THRESHOLDS

from .answer_files import read_answers, read_key
from .people import CLUSTERS, People
from .study_records import STUDY_VERSION, Gap, PeopleProfile, PeopleScores, StudyKey, Trial

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
    of_pairs = study.kind == "pairs"
    names = ("right", "wrong") if any(trial.right is not None for trial in study.trials) else ("anchor", "partner")
    groups = {group: sum(sheet.group == group for sheet in files.sheets) for group in ("A", "B")}
    shown = sorted({trial.corruption for trial in study.trials if trial.corruption is not None})
    return PeopleScores(
        schema_version=STUDY_VERSION,
        study=study.study,
        digest=study.digest,
        name=study.name,
        model=study.model,
        kind=study.kind,
        people=groups,
        answers=len(people.answers),
        unfinished=files.unfinished,
        chance=1 / len(study.categories),
        members={name: people.rate(lambda t, name=name: _member(t) == name) for name in names} if of_pairs else {},  # type: ignore[misc]
        gap=_gap(people, names) if of_pairs else None,
        confidence_gap=people.confidence_gap(lambda t: _member(t) == "right", lambda t: _member(t) == "wrong")
        if names[0] == "right"
        else None,
        gaps={change: _gap(people, names, change) for change in sorted({t.change for t in study.trials if t.change is not None})},
        profiles={} if of_pairs else {name: _profile(people, (name,)) for name in shown},
        mean_profile=None if of_pairs else _profile(people, tuple(shown)),
        clusters=CLUSTERS,
        refused=list(files.refused),
        notes=_notes(groups, study),
    )


def _member(trial: Trial) -> str | None:
    """Return which member of its pair a picture is: for a model, or without one."""
    return trial.member if trial.right is None else "right" if trial.right else "wrong"


def _gap(people: People, names: tuple[str, str], change: str | None = None) -> Gap:
    better, worse = names
    return people.gap(
        lambda trial: _member(trial) == better and change in (None, trial.change),
        lambda trial: _member(trial) == worse and change in (None, trial.change),
    )


def _profile(people: People, corruptions: tuple[str, ...]) -> PeopleProfile:
    """Return people's accuracy at each level of some degradations; the clean images are level 0 of each."""

    def shown(trial: Trial) -> bool:
        return trial.corruption is None or trial.corruption in corruptions

    levels = sorted({trial.level for _, trial, _ in people.answers if trial.level is not None and shown(trial)})
    rates = [people.rate(lambda trial, level=level: trial.level == level and shown(trial)) for level in levels]  # type: ignore[misc]
    model = _model_levels(people.key.model_accuracy, corruptions)
    return PeopleProfile(
        levels=levels,
        rates=rates,
        first_below=people.first_below(levels, shown) if levels else {},
        model_accuracy=[model.get(level) for level in levels] if model else None,
        model_first_below={str(t): next((level for level in sorted(model) if model[level] < t), None) for t in THRESHOLDS}
        if model
        else None,
    )


def _model_levels(accuracy: Mapping[str, Mapping[str, float]], corruptions: tuple[str, ...]) -> dict[int, float]:
    """Return the model's accuracy at each level, the mean over the degradations that have it."""
    found: dict[int, list[float]] = {}
    for name in (CLEAN, *corruptions):
        for level, value in accuracy.get(name, {}).items():
            found.setdefault(int(level), []).append(value)
    return {level: sum(values) / len(values) for level, values in found.items()}


def _notes(groups: Mapping[str, int], study: StudyKey) -> list[str]:
    notes = []
    if sum(groups.values()) < FEW:
        count = sum(groups.values())
        notes.append(f"{count} {'person is' if count == 1 else 'people are'} few: resamples of so few make the intervals too narrow.")
    empty = [group for group, count in groups.items() if not count]
    if empty and study.kind == "pairs":
        notes.append(f"Nobody of group {empty[0]} answered: no pair has answers to both of its members, so there is no gap.")
    if study.model_accuracy and study.classes > len(study.categories):
        notes.append(
            f"The model chose among {study.classes} classes, and people among {len(study.categories)} answers: its accuracy is lower by "
            "that alone."
        )
    return notes
