"""The answers that people choose from: the classes of a data set, or categories of them."""

from __future__ import annotations

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
        More than ten answers, fewer than two, or categories that have no class of the data set.
    """
    answers, chosen = {c.index: c.name for c in data.classes}, ""
    if categories is None and (selected := data.manifest.selection.get("per_super_category")):
        named = ", ".join(selected["categories"])
        chosen = f" Its images were selected by the categories {named}: the file of that selection will do."
    if categories is not None:
        by_name = {c.name: c.index for c in data.classes} | {c.folder: c.index for c in data.classes}
        names = dict.fromkeys(categories.values())
        answers = {
            by_name[name]: answer
            for answer in names
            for name, own in categories.items()
            if own == answer and name in by_name
        }
        if absent := [name for name in names if name not in answers.values()]:
            raise StudyError(
                f"{len(absent)} of the {len(names)} categories have no class of {data.path}:\n{listed(absent, MOST)}\n"
                "Expected its class folders (of ImageNet the wnids) or class names in the file of categories."
            )
    if not 2 <= (count := len(set(answers.values()))) <= MOST:
        raise StudyError(
            f"{data.path} has {count} {'answers' if categories else 'classes'}, and people choose from 2 to {MOST}. "
            "Put the classes into categories: --categories FILE (of ImageNet: --categories fragile-imagenet), as the "
            f"README of corruptset-pairs describes.{chosen}"
        )
    return answers
