"""The view ``mnist-c``: ``mnist_c/<corruption>/{train,test}_{images,labels}.npy``.

Images are (N, 28, 28, 1) uint8, labels (N,) int64; there is no severity, and the clean images are ``identity``. Samples whose source has no
splits are test samples.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..recipes.expectations import Expects
from .array_layout import ArrayLayout, ArrayPlan
from .layout import Subject, ViewOptions, refuse
from .severities import single

TAKES = ("severities",)
EXPECTS = Expects(sizes=((28, 28),), channels="grey")


class MnistC(ArrayLayout):
    """The layout."""

    def __init__(self, subject: Subject, options: ViewOptions) -> None:
        super().__init__(subject, "mnist_c")
        self._names, left = single("mnist-c", subject, options)
        self.notes += left
        splits = {s.split for s in subject.samples} - {None, "train", "test"}
        refuse("mnist-c", [f"split {s!r}: the view has train and test" for s in sorted(map(str, splits))], "Choose another view.")
        if len(self._splits) == 1:
            self.notes.append(
                f"There are only {next(iter(self._splits))} images here. tensorflow_datasets reads both splits: build with --split all "
                "for it."
            )

    @cached_property
    def _splits(self) -> dict[str, Sequence[int]]:
        by: dict[str, list[int]] = {}
        for index, sample in enumerate(self.subject.samples):
            by.setdefault(sample.split or "test", []).append(index)
        total = len(self.subject.samples)
        return {name: range(total) if len(found) == total else found for name, found in by.items()}

    def arrays(self) -> Sequence[ArrayPlan]:
        """Return an array a corruption and split."""
        return [
            ArrayPlan(f"{self.top}/{name}/{split}_images.npy", (set_id,), samples)
            for name, set_id in self._names.items()
            for split, samples in self._splits.items()
        ]

    def labels(self) -> Mapping[str, NDArray[np.generic]]:
        """Return the labels of each split, beside its images."""
        by = {split: np.array([self.subject.samples[i].label for i in samples], np.int64) for split, samples in self._splits.items()}
        return {f"{self.top}/{name}/{split}_labels.npy": labels for name in self._names for split, labels in by.items()}


def layout(subject: Subject, options: ViewOptions) -> MnistC:
    """Return the layout."""
    return MnistC(subject, options)
