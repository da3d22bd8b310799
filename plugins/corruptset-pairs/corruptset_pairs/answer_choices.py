"""Choose the possible answers of a study: the classes of a dataset, or categories of classes."""

from __future__ import annotations

from collections.abc import Mapping

from corruptset.errors import StudyError, format_list
from corruptset.manifests.reader import Dataset

MAX_ANSWERS = 10
"""The maximum number of answers, because each answer has a digit key."""


def answer_choices(data: Dataset, categories: Mapping[str, str] | None) -> dict[int, str]:
    """Return a mapping from class index to answer, in the order of the answers.

    Images whose class is missing from the mapping are not shown in a study.

    Parameters
    ----------
    data : Dataset
        The dataset, which defines the classes.
    categories : mapping, optional
        The category of each class folder or class name. By default, each class is an answer.

    Raises
    ------
    StudyError
        If there are fewer than two or more than ten answers, or if a category has no class in the dataset.
    """
    answers, chosen = {c.index: c.name for c in data.classes}, ""
    if categories is None and (selected := data.manifest.selection.get("per_super_category")):
        named = ", ".join(selected["categories"])
        chosen = f" The images were selected by the categories {named}, so the file of that selection is suitable."
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
                f"{len(absent)} of the {len(names)} categories have no class of {data.path}:\n"
                f"{format_list(absent, 10)}\n"
                "Use the class folders (for ImageNet, the wnids) or the class names in the file of categories."
            )
    if not 2 <= (count := len(set(answers.values()))) <= MAX_ANSWERS:
        raise StudyError(
            f"{data.path} has {count} {'answers' if categories else 'classes'}, but a study needs from 2 to "
            f"{MAX_ANSWERS} answers. Group the classes into categories with --categories FILE (for ImageNet, "
            f"--categories fragile-imagenet).{chosen}"
        )
    return answers
