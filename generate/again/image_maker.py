"""Images of a recorded build, one or a few at a time, from the last clean images and beginnings of chains."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..plan.job import CheckedSample
from ..plan.tree import Node
from ..work.worker import batches, load_clean
from .from_manifest import RecordedBuild

KEPT_BYTES = 64 << 20
"""Of clean images and beginnings of chains that a process keeps."""

Pixels = NDArray[np.uint8]
Chain = tuple[Node, ...]
"""The nodes of a set, from the clean one to its own."""


class ImageMaker:
    """Makes images of the sets that a recorded build was asked for, as they were before they were encoded."""

    def __init__(self, build: RecordedBuild) -> None:
        self._build = build
        tree = build.maker.tree(build.by_id[s] for s in build.asked)
        self.chains = dict(_chains(tree, ()))
        """Set -> its chain, in the order of the walk."""
        self._kept: OrderedDict[tuple[int, int], Pixels] = OrderedDict()
        self._kept_bytes = 0

    def clean(self, index: int) -> Pixels:
        """Return the clean image of a sample, (H, W, C); it is not to be changed."""
        root = next(iter(self.chains.values()))[0]
        return self._start((root,), index)[1]

    def images(self, set_id: str, indices: Sequence[int]) -> list[Pixels]:
        """Return images of a set, (H, W, C) each: those of one shape are made together.

        Raises
        ------
        SourceError
            A sample cannot be read, or is not the recorded one.
        """
        chain = self.chains[set_id]
        starts = [self._start(chain, index) for index in indices]
        made = [image for _, image in starts]
        for depth in sorted({depth for depth, _ in starts}):
            positions = [p for p, start in enumerate(starts) if start[0] == depth]
            for batch in batches([starts[p][1] for p in positions]):
                group = [positions[p] for p in batch]
                images = self._walk(chain, depth, [starts[p][1] for p in group], [indices[p] for p in group])
                for position, image in zip(group, images, strict=True):
                    made[position] = image
        return made

    def _start(self, chain: Chain, index: int) -> tuple[int, Pixels]:
        """Return the longest beginning of a chain that is kept, as its depth and its image; the clean image is loaded if none is."""
        for depth in range(len(chain) - 1, -1, -1):
            if (image := self._kept.get((index, id(chain[depth])))) is not None:
                self._kept.move_to_end((index, id(chain[depth])))
                return depth, image
        sample, record = self._build.selected[index], self._build.records[index]
        image = load_clean(self._build.source, CheckedSample(sample, record.sha256, record.width, record.height), self._build.preprocessing)
        self._keep(chain[0], index, image)
        return 0, image

    def _walk(self, chain: Chain, depth: int, images: Sequence[Pixels], indices: Sequence[int]) -> Pixels:
        """Return the images at the end of a chain, made from those at a depth; keep what other sets begin with."""
        tree = Node(None, chain[depth].key)
        below = tree
        for number in range(depth + 1, len(chain)):
            below.children[b""] = below = replace(chain[number], set_id=str(number), children={})
        batch = made = np.stack(images)
        for depth_made, made in self._build.maker.images(tree, batch, [self._build.records[i].id for i in indices]):
            node = chain[int(depth_made)]
            if len(node.children) + (node.set_id is not None) > 1:
                for index, image in zip(indices, made, strict=True):
                    self._keep(node, index, image.copy())
        return made

    def _keep(self, node: Node, index: int, image: Pixels) -> None:
        """Keep an image, and drop those that were not asked for longest."""
        if (index, id(node)) in self._kept:
            return
        self._kept[index, id(node)] = image
        self._kept_bytes += image.nbytes
        while self._kept_bytes > KEPT_BYTES and len(self._kept) > 1:
            self._kept_bytes -= self._kept.popitem(last=False)[1].nbytes


def _chains(node: Node, above: Chain) -> Iterator[tuple[str, Chain]]:
    chain = (*above, node)
    if node.set_id is not None:
        yield node.set_id, chain
    for child in node.children.values():
        yield from _chains(child, chain)
