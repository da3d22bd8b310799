"""The tree of stages in a build. It is traversed once for each batch of images.

Many chains begin with the same stages. The root of the tree is the clean image, and every distinct chain is a node. A
depth-first walk applies the stage of each node once, even if several sets need it, and keeps one buffer per depth. If
the levels of a gradual degradation accumulate, each level starts from the result of the level below it. It is then a
child of that level, so thirty levels take thirty steps.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...corruptions.keys import sample_keys
from ...corruptions.plugins import Plugin
from ...corruptions.registry import Images, get_corruption
from ...corruptions.stages import Coupling, Scale, Stage, apply_stage, chain_keys, check_images
from ...errors import PluginError, first_few
from ..recipes.set_spec import SetSpec, step_identity


@dataclass
class Node:
    """A node of the tree. Each node represents one distinct chain of stages."""

    stage: Stage | None
    """The last stage of the chain. At the root, which represents the clean image, it is None."""
    key: np.uint64
    """The key of the random draws of the stage."""
    start_level: int = 0
    """The level of the parent's images, if the parent is the previous level of the same gradual degradation."""
    set_id: str | None = None
    """The set that consists of the images of this node, if any."""
    children: dict[bytes, Node] = field(default_factory=dict)

    def branches(self) -> list[Node]:
        """Return the trees that share no stage: the clean set, and one tree for each child of the root."""
        alone = [] if self.set_id is None else [Node(self.stage, self.key, self.start_level, self.set_id)]
        return [*alone, *self.children.values()]


def build_tree(sets: Iterable[SetSpec], seed: int, coupling: Coupling) -> Node:
    """Return the tree of sets. All chains must be distinct. To merge sets with equal chains, use `merge_chains`."""
    root = Node(None, np.uint64(0))
    for spec in sets:
        node = root
        keys = chain_keys(spec.stages, seed, coupling)
        for stage, key in zip(spec.stages, keys, strict=True):
            for step, start_level in stage_steps(stage):
                node = node.children.setdefault(step_identity(step, key), Node(step, key, start_level))
        if node.set_id is not None:
            raise ValueError(f"{node.set_id} and {spec.id} are the same chain")
        node.set_id = spec.id
    return root


def stage_steps(stage: Stage) -> Iterator[tuple[Stage, int]]:
    """Yield (stage, level of the parent) for the nodes of a stage: one node, or one node per level."""
    gradual = get_corruption(stage.corruption).gradual
    if gradual is None or not gradual.accumulates or stage.level is None:
        yield stage, 0
        return
    for level in range(1, stage.level + 1):
        yield replace(stage, level=level), level - 1


def walk_order(root: Node) -> Iterator[str]:
    """Yield set ids in the order in which `walk` yields their images."""
    if root.set_id is not None:
        yield root.set_id
    for child in root.children.values():
        yield from walk_order(child)


def stages_applied(root: Node) -> int:
    """Return the number of stages that a walk applies. Each level of a gradual degradation counts as one stage."""
    return sum(1 + stages_applied(child) for child in root.children.values())


def stages_naive(sets: Iterable[SetSpec]) -> int:
    """Return the number of stages that would be applied if every set started from the clean image.

    A set that occurs several times in the recipe is counted several times.
    """
    return sum(s.entries * sum(1 for _ in stage_steps(stage)) for s in sets for stage in s.stages)


def max_buffers(root: Node) -> int:
    """Return the largest number of images of one sample that a walk keeps in memory at the same time.

    The images of a node are freed when its last child has been computed.
    """
    children = list(root.children.values())
    return max(
        (1 + max_buffers(child) if child is not children[-1] else max(2, max_buffers(child)) for child in children),
        default=1,
    )


def walk(
    root: Node,
    clean: Images,
    keys: NDArray[np.uint64],
    *,
    side: int,
    scale: Scale,
    resources: Mapping[str, Any] | None = None,
) -> Iterator[tuple[str, Images]]:
    """Yield the images of every set for one batch of clean images.

    Parameters
    ----------
    root : Node
        The tree of the sets.
    clean : (N, H, W, C) ndarray of uint8
        The clean images, as `corruptions.stages.check_images` returns them. They are not modified.
    keys : (N,) ndarray of uint64
        The keys of the samples.
    side : int
        The reference side of the calibration, in pixels.
    scale : {"none", "side"}
        Whether parameters are scaled to the size of the images.
    resources : mapping, optional
        Resources that replace the default resources of corruptions, for example frost textures.

    Yields
    ------
    (set id, (N, H', W', C) ndarray of uint8)
        The images are valid until the next ones are requested.
    """
    if root.set_id is not None:
        yield root.set_id, clean
    stack: list[tuple[Iterator[Node], int, Images]] = [(iter(root.children.values()), len(root.children), clean)]
    while stack:
        children, remaining, images = stack.pop()
        child = next(children, None)
        if child is None:
            continue
        assert child.stage is not None
        corrupted = apply_stage(
            images,
            child.stage,
            child.key,
            keys,
            side=side,
            scale=scale,
            resources=resources,
            start_level=child.start_level,
        )
        if remaining > 1:
            stack.append((children, remaining - 1, images))
        del images
        if child.set_id is not None:
            yield child.set_id, corrupted
        stack.append((iter(child.children.values()), len(child.children), corrupted))
        del corrupted


@dataclass(frozen=True)
class SetMaker:
    """The settings and resources with which the images of sets are computed. Equal settings give equal pixels."""

    side: int
    """The short side, in pixels, of the images for which the parameters were chosen."""
    seed: int = 0
    coupling: Coupling = "independent"
    scale: Scale = "none"
    resources: Mapping[str, Any] = field(default_factory=dict)
    """Resources that replace the default resources of corruptions (frost textures), and any surrogate."""
    plugins: tuple[Plugin, ...] = ()
    """The plugins of the corruptions. A worker loads them when it unpickles this object."""

    def tree(self, sets: Iterable[SetSpec]) -> Node:
        """Return the tree of sets with distinct chains."""
        return build_tree(sets, self.seed, self.coupling)

    def images(
        self, tree: Node, clean: NDArray[np.uint8], ids: Sequence[str], labels: Sequence[int | None] | None = None
    ) -> Iterator[tuple[str, Images]]:
        """Yield the id and the images of every set of a tree.

        Parameters
        ----------
        tree : Node
            The tree of the sets.
        clean : (N, H, W, C) ndarray of uint8
            The clean images of one batch.
        ids : sequence of str
            The ids of the samples, which determine the random draws.
        labels : sequence of int, optional
            The classes of the samples, for corruptions that use the gradient of a model. A class is None if the source
            has no labels.

        Yields
        ------
        (set id, (N, H', W', C) ndarray of uint8)
            The images are valid until the next ones are requested.

        Raises
        ------
        PluginError
            A corruption of a plugin fails. The message names the sample.
        """
        resources = (
            self.resources
            if labels is None or None in labels
            else {**self.resources, "labels": np.asarray(labels, np.int64)}
        )
        try:
            yield from walk(
                tree, check_images(clean), sample_keys(ids), side=self.side, scale=self.scale, resources=resources
            )
        except PluginError as e:
            named = f"sample {ids[e.position]!r}" if e.position is not None else f"samples {first_few(ids)}"
            raise PluginError(
                f"{e} ({named}). To test a corruption without a build, use `corruptset check-corruption`."
            ) from e
