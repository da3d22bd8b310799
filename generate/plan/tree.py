"""The plan of a build: a tree of stages, walked once for each batch.

Chains of stages share beginnings. The tree has clean at its root and one node for each distinct chain; a depth-first
walk keeps one buffer per depth and applies each node's stage once, however many sets go through it. A level of a
gradual degradation that continues the level below it is that level's child, so that thirty levels are thirty steps.
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
    """One distinct chain of stages."""

    stage: Stage | None
    """The last stage of the chain; None at the root, which is clean."""
    key: np.uint64
    done: int = 0
    """The level at which the parent's images are already, where they are of the same gradual degradation."""
    set_id: str | None = None
    """The set whose images are made here, if any."""
    children: dict[bytes, Node] = field(default_factory=dict)

    def branches(self) -> list[Node]:
        """Return what shares nothing: clean by itself, and each first stage's tree."""
        alone = [] if self.set_id is None else [Node(self.stage, self.key, self.done, self.set_id)]
        return [*alone, *self.children.values()]


def grow(sets: Iterable[SetSpec], seed: int, coupling: Coupling) -> Node:
    """Return the tree of sets whose chains are distinct (`merge_chains`)."""
    root = Node(None, np.uint64(0))
    for spec in sets:
        node = root
        keys = chain_keys(spec.stages, seed, coupling)
        for stage, key in zip(spec.stages, keys, strict=True):
            for step, done in steps(stage):
                node = node.children.setdefault(step_identity(step, key), Node(step, key, done))
        if node.set_id is not None:
            raise ValueError(f"{node.set_id} and {spec.id} are the same chain")
        node.set_id = spec.id
    return root


def steps(stage: Stage) -> Iterator[tuple[Stage, int]]:
    """Yield the nodes of a stage in a tree, each with its parent's level.

    They are one, or one for each level.
    """
    gradual = get_corruption(stage.corruption).gradual
    if gradual is None or not gradual.accumulates or stage.level is None:
        yield stage, 0
        return
    for level in range(1, stage.level + 1):
        yield replace(stage, level=level), level - 1


def walk_order(root: Node) -> Iterator[str]:
    """Yield set ids in the order in which a walk makes them."""
    if root.set_id is not None:
        yield root.set_id
    for child in root.children.values():
        yield from walk_order(child)


def stages_applied(root: Node) -> int:
    """Return how many stages a walk applies, each step of a gradual degradation one."""
    return sum(1 + stages_applied(child) for child in root.children.values())


def stages_naive(sets: Iterable[SetSpec]) -> int:
    """Return how many stages would be applied if every set started from clean.

    Those that the recipe repeats count too.
    """
    return sum(s.entries * sum(1 for _ in steps(stage)) for s in sets for stage in s.stages)


def buffers(root: Node) -> int:
    """Return how many images of one sample a walk holds at most.

    A node's images are freed when its last child is made.
    """
    children = list(root.children.values())
    return max(
        (1 + buffers(child) if child is not children[-1] else max(2, buffers(child)) for child in children), default=1
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
    """Yield every set's images of one batch.

    Parameters
    ----------
    root : Node
    clean : (N, H, W, C) ndarray of uint8
        As `corruptions.stages.check_images` returns it; it is not changed.
    keys : (N,) ndarray of uint64
        The samples' keys.
    side : int
        The calibration's reference side.
    scale : {"none", "side"}
    resources : mapping, optional
        What replaces a corruption's own resources (frost's textures).

    Yields
    ------
    (set id, (N, H', W', C) ndarray of uint8)
        Valid until the next one is asked for: a node's images go when its last child has been corrupted from them.
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
            images, child.stage, child.key, keys, side=side, scale=scale, resources=resources, done=child.done
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
    """Makes the images of sets: with equal settings equal pixels, whoever asks."""

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
            raise PluginError(f"{e}; {named}. `corruptset check-corruption` tries a corruption without a build.") from e
