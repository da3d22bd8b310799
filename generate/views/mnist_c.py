"""The view ``mnist-c``: ``mnist_c/<corruption>/{train,test}_{images,labels}.npy``.

Images are (N, 28, 28, 1) uint8, labels (N,) int64; there is no severity, and the clean images are ``identity``. Samples whose source has no
splits are test samples.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from ..recipes.expectations import Expects
from .array_layout import ArrayLayout
from .layout import SetSlice, ViewOptions, refuse
from .severities import single
from .subject import Subject


class MnistC(ArrayLayout):
    """The layout."""

    view = "mnist-c"
    takes = ("severities",)
    expects = Expects(sizes=((28, 28),), channels="grey")

    def __init__(self, subject: Subject, options: ViewOptions) -> None:
        self._sets, notes = single(self.view, subject, options)
        strange = {s.split for s in subject.samples} - {None, "train", "test"}
        refuse(self.view, [f"split {s!r}: the view has train and test" for s in sorted(map(str, strange))], "Choose another view.")
        splits: dict[str, list[int]] = {}
        for index, sample in enumerate(subject.samples):
            splits.setdefault(sample.split or "test", []).append(index)
        self._splits = splits
        slices = (
            SetSlice(set_id, f"mnist_c/{name}/{split}_images.npy", samples, 0)
            for name, set_id in self._sets.items()
            for split, samples in splits.items()
        )
        super().__init__(subject, "mnist_c", slices)
        self.notes += notes
        if len(splits) == 1:
            self.notes.append(
                f"There are only {next(iter(splits))} images here. tensorflow_datasets reads both splits: build with --split all for it."
            )

    def labels(self) -> Mapping[str, NDArray[np.generic]]:
        by = {split: np.array([self.subject.samples[i].class_index for i in samples], np.int64) for split, samples in self._splits.items()}
        return {f"{self.top}/{name}/{split}_labels.npy": labels for name in self._sets for split, labels in by.items()}
