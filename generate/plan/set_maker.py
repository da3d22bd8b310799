"""How the images of sets are made from clean ones: the settings that all sets of a build share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...corruptions.keys import sample_keys
from ...corruptions.plugins import Plugin
from ...corruptions.registry import Images
from ...corruptions.stages import Coupling, Scale, check_images
from ...errors import PluginError, first_few
from ..recipes.set_spec import SetSpec
from .tree import Node, grow, walk


@dataclass(frozen=True)
class SetMaker:
    """Makes the images of sets. A build, a repair, a preview and a rederivation with equal settings make equal pixels."""

    side: int
    """The short side, in pixels, that the parameters were made for."""
    seed: int = 0
    coupling: Coupling = "independent"
    scale: Scale = "none"
    resources: Mapping[str, Any] = field(default_factory=dict)
    """What replaces the corruptions' own resources (frost's textures), and the surrogate of those that need one."""
    plugins: tuple[Plugin, ...] = ()
    """Where corruptions come from that are not corruptset's: a worker loads them when it gets this."""

    def tree(self, sets: Iterable[SetSpec]) -> Node:
        """Return the tree of sets whose chains are distinct."""
        return grow(sets, self.seed, self.coupling)

    def images(
        self, tree: Node, clean: NDArray[np.uint8], ids: Sequence[str], labels: Sequence[int | None] | None = None
    ) -> Iterator[tuple[str, Images]]:
        """Yield set id and images, for every set of a tree.

        Parameters
        ----------
        tree : Node
        clean : (N, H, W, C) ndarray of uint8
        ids : sequence of str
            The samples' ids: random draws follow from them.
        labels : sequence of int, optional
            The samples' classes, for corruptions that follow a model's gradient; None where the source has no labels.

        Yields
        ------
        (set id, (N, H', W', C) ndarray of uint8)
            The images are valid until the next ones are asked for.

        Raises
        ------
        PluginError
            A plugin's corruption fails; the error names the sample.
        """
        resources = self.resources if labels is None or None in labels else {**self.resources, "labels": np.asarray(labels, np.int64)}
        try:
            yield from walk(tree, check_images(clean), sample_keys(ids), side=self.side, scale=self.scale, resources=resources)
        except PluginError as e:
            named = f"sample {ids[e.position]!r}" if e.position is not None else f"samples {first_few(ids)}"
            raise PluginError(f"{e}; {named}. `corruptset check-corruption` tries a corruption without a build.") from e
