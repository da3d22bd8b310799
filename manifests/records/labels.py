"""Labels, of those who cannot do without one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import ParameterError


class Labelled:
    """Base of what may have a label."""

    if TYPE_CHECKING:  # a field of its own in each of the two
        label: int | None

    @property
    def class_index(self) -> int:
        """The label; where the source has none it raises `ParameterError`."""
        if self.label is None:
            raise ParameterError(
                "The images have no labels, because their source has none (tree, coco, cityscapes), and this needs labels. Detection and "
                "segmentation metrics are scored with `corruptset score-table`."
            )
        return self.label
