"""The view ``cifar-c``: ``CIFAR-10-C/<corruption>.npy`` and ``labels.npy``.

An array is (5N, 32, 32, 3) uint8, rows (s-1)N to sN being severity s in the source's order; labels are uint8, tiled five times. Read by
RobustBench, AugMix's code, tensorflow_datasets and many test-time adaptation repositories; some pair rows with the source's own labels,
so the order is never changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ..recipes.expectations import Expects
from .array_layout import ArrayLayout, ArrayPlan
from .layout import SEVERITIES, Subject, ViewOptions, refuse
from .severities import grid

TAKES = ("severities",)
EXPECTS = Expects(sizes=((32, 32),), channels="rgb")
"""Loaders transpose to (3, H, W), and their networks are made for 32x32."""
ROBUSTBENCH = 10_000
"""The rows that RobustBench takes for each severity, whatever the arrays hold."""


class CifarC(ArrayLayout):
    """The layout; ``CIFAR-100-C`` for cifar100-c and whatever else has 100 classes."""

    def __init__(self, subject: Subject, options: ViewOptions) -> None:
        hundred = "cifar100" in subject.name.replace("-", "") or len(subject.classes) == 100
        super().__init__(subject, "CIFAR-100-C" if hundred else "CIFAR-10-C")
        self._grid, left = grid("cifar-c", subject, options)
        self.notes += left
        self._every = range(len(subject.samples))
        most = max(s.label for s in subject.samples)
        refuse("cifar-c", [f"label {most}: labels.npy is uint8, 0 to 255"] * (most > 255), "Choose another view, such as webdataset.")
        taken = [f"{name}: labels.npy holds the labels" for name in self._grid if name.casefold() == "labels"]
        refuse("cifar-c", taken, "Choose another name in the file of severities.")
        count = len(subject.samples)
        if count != ROBUSTBENCH:
            self.notes.append(
                f"RobustBench takes {ROBUSTBENCH:,} rows for each severity, and there are {count:,} here: its loaders return rows of "
                f"other severities, or none, without an error. Build from all {ROBUSTBENCH:,} test images for it; elsewhere slice by "
                "n = len(labels) // 5."
            )

    def arrays(self) -> Sequence[ArrayPlan]:
        """Return an array a corruption."""
        return [ArrayPlan(f"{self.top}/{name}.npy", ids, self._every) for name, ids in self._grid.items()]

    def labels(self) -> Mapping[str, NDArray[np.generic]]:
        """Return labels.npy."""
        return {f"{self.top}/labels.npy": np.tile(np.array([s.label for s in self.subject.samples], np.uint8), len(SEVERITIES))}


def layout(subject: Subject, options: ViewOptions) -> CifarC:
    """Return the layout."""
    return CifarC(subject, options)
