"""The view ``flageval``: ``<corruption>/<severity>/<class folder>/<image>_<letter>``, with the file names of FlagEval's robustness page.

The page names its images by the validation image and a letter for what was done to it: ``ILSVRC2012_val_00000001_g`` for gaussian,
``_i`` for impulse, ``_s`` for shot noise, ``_p`` for PGD. It shows no folders, so these are corruptset's: every set has one of its own,
and all of them can be put into one, since no name is in two.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from .file_layout import FileLayout
from .layout import SetSlice, ViewOptions, refuse
from .severity_folders import class_notes
from .subject import SetRef, Subject

LETTERS: Mapping[str, str] = {"gaussian_noise": "g", "impulse_noise": "i", "shot_noise": "s", "pgd": "p"}
_ELSE = ", or build without --view: `corruptset export` has views of any set."
CLEAN = "clean"
"""The folder of the clean images, whose names have no letter."""


class FlagEval(FileLayout):
    """``<name>-<version>/<corruption>/<severity>/<class folder>/<image>_<letter>.<suffix>``, and ``clean`` where ``--sets`` names it."""

    view = "flageval"
    takes: ClassVar[tuple[str, ...]] = ("allow_missing_classes",)
    takes_clean = False

    def __init__(self, subject: Subject, options: ViewOptions) -> None:
        refuse(
            "flageval",
            [problem for ref in subject.sets if (problem := _problem(ref)) is not None],
            f"It takes {', '.join(f'{name} (_{letter})' for name, letter in LETTERS.items())} and clean. Choose what fits with --sets"
            + (_ELSE if subject.manifest is None else "."),
        )
        samples = range(len(subject.samples))
        top = subject.folder
        self._letter_of = {f"{top}/{_folder(ref)}": LETTERS.get(ref.corruption or "", "") for ref in subject.sets}
        super().__init__(subject, top, (SetSlice(ref.id, f"{top}/{_folder(ref)}", samples) for ref in subject.sets))
        self.notes += class_notes(self, samples, options)

    def path(self, folder: str, index: int) -> str:
        """Return where an image goes."""
        letter = self._letter_of.get(folder, "")
        stem, _, suffix = super().path(folder, index).rpartition(".")
        return f"{stem}{'_' * bool(letter)}{letter}.{suffix}"


def _folder(ref: SetRef) -> str:
    return f"{ref.corruption}/{ref.severity}" if ref.stages else CLEAN


def _problem(ref: SetRef) -> str | None:
    """Return why a set has no name on the page, or None."""
    if not ref.stages or (ref.corruption in LETTERS and ref.severity is not None):
        return None
    if ref.stages > 1:
        return f"{ref.id}: {ref.stages} corruptions in a row have no letter"
    if ref.corruption not in LETTERS:
        return f"{ref.id}: {ref.corruption} has no letter"
    return f"{ref.id}: is not at a severity of a table, 1 to 5"
