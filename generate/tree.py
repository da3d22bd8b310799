"""The plan of a build: a tree of stages, walked once for each batch of samples.

Chains of stages share beginnings. The tree has clean at its root and one node for each distinct chain; a depth-first
walk keeps one buffer per depth and applies each node's stage once, however many sets go through it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..canonical import canonical
from ..corruptions.registry import Images
from ..corruptions.stages import Coupling, Scale, Stage, apply_stage, chain_keys
from .recipe import SetSpec


@dataclass
class Node:
    """One distinct chain of stages."""

    stage: Stage | None
    """The last stage of the chain; None at the root, which is clean."""
    key: np.uint64
    set_id: str | None = None
    """The set whose images are made here, if any."""
    children: dict[bytes, Node] = field(default_factory=dict)


def chain_identity(stages: Sequence[Stage], seed: int, coupling: Coupling) -> bytes:
    """Return what two chains share exactly if their pixels are the same by definition: keys and parameters of all stages."""
    keys = chain_keys(stages, seed, coupling)
    return canonical([[f"{k:016x}", s.corruption, s.revision, dict(s.parameters)] for k, s in zip(keys, stages, strict=True)])


def merge_aliases(sets: Iterable[SetSpec], seed: int, coupling: Coupling) -> list[SetSpec]:
    """Return the sets with those of one chain merged: the first keeps its id and takes the others' names as aliases.

    Under ``coupling="severity"`` a severity and its row given explicitly draw differently, so they stay two sets.
    """
    merged: dict[bytes, SetSpec] = {}
    for spec in sets:
        identity = chain_identity(spec.stages, seed, coupling)
        first = merged.get(identity)
        if first is None:
            merged[identity] = spec
        else:
            names = dict.fromkeys([*first.aliases, spec.id, *spec.aliases])
            names.pop(first.id, None)
            merged[identity] = replace(first, aliases=tuple(names))
    return list(merged.values())


def grow(sets: Iterable[SetSpec], seed: int, coupling: Coupling) -> Node:
    """Return the tree of sets whose chains are distinct (`merge_aliases`)."""
    root = Node(None, np.uint64(0))
    for spec in sets:
        node = root
        keys = chain_keys(spec.stages, seed, coupling)
        for depth, (stage, key) in enumerate(zip(spec.stages, keys, strict=True), 1):
            identity = chain_identity(spec.stages[:depth], seed, coupling)
            node = node.children.setdefault(identity, Node(stage, key))
        if node.set_id is not None:
            raise ValueError(f"{node.set_id} and {spec.id} are the same chain")
        node.set_id = spec.id
    return root


def walk_order(root: Node) -> Iterator[str]:
    """Yield set ids in the order in which a walk makes them."""
    if root.set_id is not None:
        yield root.set_id
    for child in root.children.values():
        yield from walk_order(child)


def stages_applied(root: Node) -> int:
    """Return how many stages one walk applies."""
    return sum(1 + stages_applied(child) for child in root.children.values())


def stages_naive(sets: Iterable[SetSpec]) -> int:
    """Return how many stages would be applied if every set started from clean."""
    return sum(len(s.stages) for s in sets)


def depth(root: Node) -> int:
    """Return the number of stages of the longest chain."""
    return max((1 + depth(child) for child in root.children.values()), default=0)


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
        As `corruptions.stages.check_images` returns it; it is left untouched.
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
        Valid until the next one is asked for: the buffer of a depth goes when its subtree is done.
    """
    if root.set_id is not None:
        yield root.set_id, clean
    for child in root.children.values():
        assert child.stage is not None
        images = apply_stage(clean, child.stage, child.key, keys, side=side, scale=scale, resources=resources)
        yield from walk(child, images, keys, side=side, scale=scale, resources=resources)
