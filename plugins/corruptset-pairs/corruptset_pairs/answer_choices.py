"""The answers that people choose from: the classes of a data set, or categories of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from corruptset.errors import StudyError, listed
from corruptset.manifests.reader import DataSet

MOST = 10
"""Answers: one a digit key."""


def answer_choices(data: DataSet, categories: Mapping[str, str] | None) -> dict[int, str]:
    """Return class index -> answer, in the order of the answers; images of other classes are not shown.

    Parameters
    ----------
    data : DataSet
    categories : mapping, optional
        Class folder or class name -> category. By default the classes, where there are at most ten.

    Raises
    ------
    StudyError
        More than ten answers, fewer than two, two of one name, or categories that have no class of the data set.
    """
    if categories is None:
        names = [c.name for c in data.classes]
        if len(names) > MOST:
            selected = data.manifest.selection.get("per_super_category")
            chosen = ""
            if selected is not None:
                named = ", ".join(selected["categories"])
                chosen = f" Its images were selected by the categories {named}: the file of that selection will do."
            raise StudyError(
                f"{data.path} has {len(names)} classes, and people choose from at most {MOST} answers. Put the "
                "classes into categories: "
                f"--categories FILE, as docs/pairs.md describes (of ImageNet: --categories fragile-imagenet).{chosen}"
            )
        of_label = {c.index: c.name for c in data.classes}
    else:
        names = list(dict.fromkeys(categories.values()))
        by_name = {c.name: c.index for c in data.classes} | {c.folder: c.index for c in data.classes}
        of_label = {
            by_name[name]: answer
            for answer in names
            for name, own in categories.items()
            if own == answer and name in by_name
        }
        absent = [name for name in names if name not in of_label.values()]
        if absent:
            raise StudyError(
                f"{len(absent)} of the {len(names)} categories have no class of {data.path}:\n{listed(absent, MOST)}\n"
                "Expected its class folders (of ImageNet the wnids) or class names in the file of categories."
            )
    problems = [f"the answer {name!r} stands for {n} classes" for name, n in Counter(names).items() if n > 1]
    if not 2 <= len(names) <= MOST:
        problems.append(f"there are {len(names)} answers; expected 2 to {MOST}")
    if problems:
        raise StudyError(
            f"People cannot choose from these answers:\n{listed(problems)}\nPut the classes into categories "
            "(--categories FILE)."
        )
    return of_label
