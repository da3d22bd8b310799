"""Pictures of a sheet: what is drawn for a study, before it becomes a page."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .answer_choices import AnswerChoices
from .seeded_order import hash_of, shuffled

Pixels = NDArray[np.uint8]


@dataclass(frozen=True)
class Draw:
    """What every draw of a study follows from."""

    digest: str
    """Of the data set."""
    seed: int
    choices: AnswerChoices

    def sources_of_categories(self, label_of: dict[str, int]) -> list[list[str]]:
        """Return source images by category, in random orders: categories, and the images of each. Those without an answer are left out."""
        by_category: dict[str, list[str]] = {}
        for source, label in label_of.items():
            if label in self.choices.of_label:
                by_category.setdefault(self.choices.of_label[label], []).append(source)
        return [shuffled(by_category[c], self.seed, "sources") for c in shuffled(by_category, self.seed, "categories")]

    def trial_id(self, group: str, set_id: str, sample: str) -> str:
        """Return the name of a picture in the page, from which nobody reads what it is."""
        return hash_of(self.digest, str(self.seed), group, set_id, sample).hex()[:16]
