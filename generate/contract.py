"""`check_corruption`: whether a corruption keeps what the rest relies on: pure, keyed, alike in any batch, any size,
any process.
"""

from __future__ import annotations

import pickle
import random
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import nullcontext
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..corruptions.calibrations import calibrations_of, get_calibration
from ..corruptions.keys import sample_keys
from ..corruptions.plugins import fault_of, load_plugins, plugins_of
from ..corruptions.registry import PLUGIN, Corruption, Images, Parameter, get_corruption
from ..corruptions.stages import Stage, apply_stage, chain_keys, check_images, resolve_stage
from ..errors import ParameterError
from ..pixels import pixel_digest
from ..processes import loky_workers_starting, worker_pool
from .plan.tree import SetMaker

SIZES = ((8, 8), (8, 37), (41, 24), (64, 64), (97, 150))
"""Heights and widths, each in grey and in colour."""
LEVELS = (1, 2, 5, 10, 30)
"""Of a gradual degradation."""
IDS = ("a", "b", "c", "d")


@dataclass(frozen=True)
class CorruptionCheck:
    """What the contract says of a corruption."""

    corruption: str
    plugin: str | None
    """Its module, where it is not corruptset's own."""
    failures: tuple[str, ...]
    """A sentence each; none where it keeps the contract."""
    checks: tuple[str, ...]
    """What was looked at."""
    seconds: float
    """For one colour image of 224x224, measured at the strongest severity; NaN where it fails."""

    @property
    def ok(self) -> bool:
        """Whether nothing failed."""
        return not self.failures


class _StandIn:
    """In place of a model: a gradient that follows from each image alone."""

    def gradient(self, images: NDArray[Any], labels: NDArray[np.int64]) -> tuple[None, NDArray[np.float32]]:
        return None, (labels[:, None, None, None] * 10 + 100 - images).astype(np.float32)

    def running(self) -> Any:
        return nullcontext()


def check_corruption(
    name: str,
    *,
    parameters: Mapping[str, Any] | None = None,
    plugins: Sequence[str | Path] | None = None,
    large: bool = True,
) -> CorruptionCheck:
    """Hold a corruption to its contract, a plugin's or one of corruptset's own.

    Its input stays as it is and the same input gives the same output; an image of a batch is what it is alone; the key
    decides what is drawn, and no global generator or order does; grey and colour, 8x8 to 4000x6000; uint8 in and out,
    in the same shape unless it says otherwise; severities differ; and another process makes the same.

    Parameters
    ----------
    name : str
    parameters : mapping, optional
        For a corruption that has no table: by default the middle of each parameter's bounds.
    plugins : sequence of str or path, optional
        Modules with corruptions of your own, or their files.
    large : bool
        Also look at one image of 4000x6000.

    Returns
    -------
    CorruptionCheck
        With a sentence for each failure.

    Raises
    ------
    UnknownCorruption, PluginError, ParameterError
        There is no such corruption, or it cannot be called at all.
    """
    load_plugins(plugins or ())
    declared = get_corruption(name)
    maker = SetMaker(
        224, plugins=plugins_of([name]), resources={"surrogate": _StandIn()} if declared.needs_model else {}
    )
    contract = _Contract(declared, _stages(declared, dict(parameters or {})), maker)
    steps = [contract.sizes, contract.purity, contract.keys, contract.batches, contract.severities, contract.process]
    checks = [" ".join((step.__doc__ or "").split()) for step in (*steps, *[contract.large] * large)]
    numpys, pythons = np.random.get_state(), random.getstate()  # noqa: NPY002
    try:
        for step in steps:
            step()
    finally:
        np.random.set_state(numpys)  # noqa: NPY002
        random.setstate(pythons)
    if large and not contract.failures:
        contract.large()
    plugin = declared.module if declared.family == PLUGIN else None
    return CorruptionCheck(name, plugin, tuple(contract.failures), tuple(checks), contract.measured())


def _stages(declared: Corruption, parameters: Mapping[str, Any]) -> list[Stage]:
    """Return what to apply: every severity of the first calibration that has rows, a few levels, or given
    parameters.
    """
    name, tables = declared.name, calibrations_of(declared.name)
    table = get_calibration(tables[0] if tables else "imagenet")
    if declared.gradual is not None:
        levels = [level for level in LEVELS if level <= declared.gradual.most]
        return [resolve_stage(name, table, level=level, parameters=parameters) for level in levels]
    if tables and not parameters:
        return [resolve_stage(name, table, severity=severity) for severity in sorted(table.rows[name])]
    return [
        resolve_stage(name, table, parameters={p.name: _middle(p, name) for p in declared.columns} | dict(parameters))
    ]


def _middle(parameter: Parameter, corruption: str) -> Any:
    if parameter.choices or parameter.kind is bool:
        return parameter.choices[0] if parameter.choices else True
    if parameter.low is None or parameter.high is None:
        raise ParameterError(
            f"{corruption} has no table, and its parameter {parameter.name!r} no bounds: give it (--param)."
        )
    middle = (parameter.low + parameter.high) / 2
    return int(middle) if parameter.kind is int else middle


def _picture(height: int, width: int, channels: int, count: int = 1) -> Images:
    """Return images with shades, edges and grain; each of several is darker than the one before."""
    y, x = np.mgrid[:height, :width]
    shades = 128 + 70 * np.sin(x / 9) * np.cos(y / 7) + 30 * ((x // 5 + y // 6) % 2)
    grain = np.random.Generator(np.random.PCG64(1)).normal(0, 12, (count, height, width, channels))
    light = 1 - np.arange(count)[:, None, None, None] / 8
    images: Images = np.clip(light * (shades[None, :, :, None] + grain + 9 * np.arange(channels)), 0, 255).astype(
        np.uint8
    )
    return images


@dataclass
class _Contract:
    declared: Corruption
    stages: Sequence[Stage]
    maker: SetMaker
    failures: list[str] = field(default_factory=list)
    kinds: set[str] = field(default_factory=set)

    def sizes(self) -> None:
        """sizes from 8x8, grey and colour: uint8 in the same shape"""
        for height, width in SIZES:
            for channels, where in ((1, "1 channel"), (3, "3 channels")):
                for stage in (self.stages[0], self.stages[-1]):
                    self._made(_picture(height, width, channels), ["a"], stage, f"at {height}x{width} with {where}")

    def purity(self) -> None:
        """the input stays as it is, the same input gives the same output, and no global generator takes part"""
        for made, images in self._each():
            before = images.copy()
            np.random.seed(1)  # noqa: NPY002
            random.seed(1)
            state = _global_state()
            first = made(images, IDS)
            self._refuse(not (images == before).all(), "changes its input; work on a copy")
            self._refuse(state != _global_state(), "draws from a global generator; draw from the keys")
            np.random.seed(2)  # noqa: NPY002
            random.seed(2)
            self._refuse(
                not _equal(first, made(images, IDS)),
                "makes other pixels in a second call; nothing may be kept between calls",
            )

    def keys(self) -> None:
        """the key decides what is drawn, and nothing else does"""
        if self.declared.needs_model:
            return
        differ = []
        for made, images in self._each():
            same = np.repeat(images[:1], len(IDS), 0)
            drawn = made(same, IDS)
            differ.append(not (drawn == drawn[:1]).all())
        if any(differ):
            self._refuse(
                self.declared.deterministic,
                "says that it draws nothing (deterministic), and its output depends on the key",
            )
        elif differ and not self.declared.deterministic:
            self._refuse(
                True, "makes the same of one image whatever its key; say deterministic=True, or draw from the keys"
            )

    def batches(self) -> None:
        """an image of a batch is what it is alone, in any order"""
        for made, images in self._each():
            together = made(images, IDS)
            alone = np.concatenate([made(images[i : i + 1], IDS[i : i + 1], i) for i in range(len(images))])
            self._refuse(
                not _equal(together, alone), "makes other pixels of an image in a batch than of the image alone"
            )
            backwards = made(images[::-1].copy(), IDS[::-1], slice(None, None, -1))[::-1]
            self._refuse(not _equal(together, backwards), "makes other pixels of a batch in another order")

    def severities(self) -> None:
        """severities differ from each other and from the clean image"""
        made = [made(images, IDS) for made, images in self._each()]
        clean = _picture(64, 64, 3, len(IDS))
        named = list(zip(made, [stage.name for stage in self.stages], strict=False))
        for one, name in named:
            self._refuse(_equal(one, clean), f"changes nothing at {name}")
        for (one, name), (other, other_name) in combinations(named, 2):
            self._refuse(_equal(one, other), f"makes the same at {name} and at {other_name}")

    def process(self) -> None:
        """another process makes the same"""
        if self.failures:
            return
        job = pickle.dumps((self.stages[-1], self.maker))
        pool = worker_pool(1)
        try:
            with loky_workers_starting():
                future = pool.submit(_again, job)
            self._refuse(future.result() != _again(job), "makes other pixels in another process")
        except BrokenProcessPool:
            self._refuse(True, "ends another process that it runs in")
        finally:
            pool.shutdown(wait=True)

    def large(self) -> None:
        """one colour image of 4000x6000"""
        self._made(
            np.tile(_picture(500, 500, 3), (1, 8, 12, 1)), ["a"], self.stages[-1], "at 4000x6000 with 3 channels"
        )

    def measured(self) -> float:
        """Return the seconds that a colour image of 224x224 takes."""
        if self.failures:
            return float("nan")
        started = time.perf_counter()
        _apply(self.stages[-1], self.maker, _picture(224, 224, 3), ["a"])
        return time.perf_counter() - started

    def _each(self) -> Iterator[tuple[Callable[..., Images], Images]]:
        """Yield a function that applies each stage, and images; nothing once it has failed to."""
        for stage in self.stages:
            images = _picture(64, 64, 3, len(IDS))
            if self._made(images, IDS, stage, "at 64x64") is not None:
                yield (
                    lambda images, ids, rows=slice(None), stage=stage: _apply(stage, self.maker, images, ids, rows),
                    images,
                )

    def _made(self, images: Images, ids: Sequence[str], stage: Stage, where: str) -> Images | None:
        try:
            made = _apply(stage, self.maker, images, ids)
        except Exception as e:
            own = f"The plugin {self.declared.module}: {self.declared.name} "
            self._refuse_at(where, str(e).removeprefix(own))
            return None
        if fault := fault_of(made, images, keeps_shape=self.declared.keeps_shape):
            self._refuse_at(where, fault)
            return None
        return made

    def _refuse_at(self, where: str, fault: str) -> None:
        """Note a fault once, whatever its numbers are at other sizes."""
        kind = re.sub(r"\d+", "", fault)
        if kind not in self.kinds:
            self.kinds.add(kind)
            self._refuse(True, f"{fault}, {where}")

    def _refuse(self, wrong: Any, sentence: str) -> None:
        text = f"{self.declared.name} {sentence}."
        if wrong and text not in self.failures:
            self.failures.append(text)


def _apply(stage: Stage, maker: SetMaker, images: Images, ids: Sequence[str], rows: Any = slice(None)) -> Images:
    """Apply one stage; images that are some `rows` of a batch keep their labels."""
    labels = np.atleast_1d(np.arange(len(IDS))[rows])[: len(images)]
    (key,) = chain_keys([stage], 0)
    given = {**maker.resources, "labels": labels}
    return apply_stage(check_images(images), stage, key, sample_keys(ids), side=maker.side, resources=given)


def _global_state() -> bytes:
    return pickle.dumps((np.random.get_state(), random.getstate()))  # noqa: NPY002


def _again(job: bytes) -> str:
    """Return the pixels' digest of what a pickled stage makes; a plugin is loaded by what unpickles it."""
    stage, maker = pickle.loads(job)
    return pixel_digest(_apply(stage, maker, _picture(64, 64, 3), ["a"])[0])


def _equal(one: Images, other: Images) -> bool:
    return one.shape == other.shape and bool((one == other).all())
