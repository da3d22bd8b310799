"""The view ``cifar-c``: ``CIFAR-10-C/<corruption>.npy`` and ``labels.npy``.

An array is (5N, 32, 32, 3) uint8, rows (s-1)N to sN being severity s in the source's order; labels are uint8, tiled five times. Read by
RobustBench, AugMix's code, tensorflow_datasets and many test-time adaptation repositories; some pair rows with the source's own labels,
so the order is never changed.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from ..recipes.expectations import Expects
from .array_layout import ArrayLayout
from .layout import SEVERITIES, SetSlice, ViewOptions, refuse
from .severities import grid
from .subject import Subject

ROBUSTBENCH = 10_000
"""The rows that RobustBench takes for each severity, whatever the arrays hold."""


class CifarC(ArrayLayout):
    """The layout; ``CIFAR-100-C`` for cifar100-c and whatever else has 100 classes."""

    view = "cifar-c"
    takes = ("severities",)
    takes_clean = False
    expects = Expects(sizes=((32, 32),), channels="rgb")
    """Loaders transpose to (3, H, W), and their networks are made for 32x32."""

    def __init__(self, subject: Subject, options: ViewOptions) -> None:
        hundred = "cifar100" in subject.name.replace("-", "") or len(subject.classes) == 100
        top = "CIFAR-100-C" if hundred else "CIFAR-10-C"
        sets, notes = grid(self.view, subject, options)
        most = max(s.class_index for s in subject.samples)
        refuse(self.view, [f"label {most}: labels.npy is uint8, 0 to 255"] * (most > 255), "Choose another view, such as webdataset.")
        taken = [f"{name}: labels.npy holds the labels" for name in sets if name.casefold() == "labels"]
        refuse(self.view, taken, "Choose another name in the file of severities.")
        count = len(subject.samples)
        slices = (
            SetSlice(set_id, f"{top}/{name}.npy", range(count), k * count) for name, ids in sets.items() for k, set_id in enumerate(ids)
        )
        super().__init__(subject, top, slices)
        self.notes += notes
        if count != ROBUSTBENCH:
            self.notes.append(
                f"RobustBench takes {ROBUSTBENCH:,} rows for each severity, and there are {count:,} here: its loaders return rows of "
                f"other severities, or none, without an error. Build from all {ROBUSTBENCH:,} test images for it; elsewhere slice by "
                "n = len(labels) // 5."
            )

    def labels(self) -> Mapping[str, NDArray[np.generic]]:
        return {f"{self.top}/labels.npy": np.tile(np.array([s.class_index for s in self.subject.samples], np.uint8), len(SEVERITIES))}
