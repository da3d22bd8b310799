"""`check_corruption`: whether a corruption keeps its contract.

Pure, keyed, alike in any batch, any size, any process.
"""

from __future__ import annotations

import pickle
import random
import re
import time
from collections.abc import Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..corruptions.calibrations import calibrations_of, get_calibration
from ..corruptions.keys import sample_keys
from ..corruptions.plugins import load_plugins, output_problem, plugins_of
from ..corruptions.registry import PLUGIN, Corruption, Images, Parameter, get_corruption
from ..corruptions.stages import Stage, apply_stage, chain_keys, check_images, resolve_stage
from ..errors import ParameterError, require_build
from ..pixels import pixel_digest
from ..workers import Workers
from .plan.tree import SetMaker

CHECKS = (
    "sizes from 8x8, grey and colour: uint8 in the same shape",
    "the input stays as it is, the same input gives the same output, and no global generator takes part",
    "an image of a batch is what it is alone, in any order",
    "the key decides what is drawn, and nothing else does",
    "severities differ from each other and from the clean image",
    "another process makes the same",
    "one colour image of 4000x6000",
)
SIZES = ((8, 8), (8, 37), (41, 24), (64, 64), (97, 150))
"""Heights and widths, each in grey and in colour."""
LEVELS = (1, 2, 5, 10, 30)
"""Levels of a gradual degradation that are tried."""
IDS = ("a", "b", "c", "d")
"""Ids of the images of a batch; their numbers are their labels."""
BATCH = range(len(IDS))


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
    """A model whose gradient depends only on each image and its label."""

    def logits(self, images: NDArray[Any]) -> NDArray[np.float32]:
        return np.zeros((len(images), 2), np.float32)

    def gradient(self, images: NDArray[np.float32], labels: NDArray[np.int64]) -> NDArray[np.float32]:
        gradient: NDArray[np.float32] = (labels[:, None, None, None] * 10 + 100 - images).astype(np.float32)
        return gradient


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
    require_build()
    load_plugins(plugins or ())
    declared = get_corruption(name)
    resources = {"surrogate": _StandIn()} if declared.needs_model else {}
    maker = SetMaker(224, plugins=plugins_of([name]), resources=resources)
    trial = _Trial(declared, _stages(declared, dict(parameters or {})), maker)
    states = np.random.get_state(), random.getstate()  # noqa: NPY002
    try:
        trial.run(large=large)
    finally:
        np.random.set_state(states[0])  # noqa: NPY002
        random.setstate(states[1])
    seconds = float("nan")
    if not trial.failures:
        started = time.perf_counter()
        _apply(trial.stages[-1], maker, _picture(224, 224, 3))
        seconds = time.perf_counter() - started
    plugin = declared.module if declared.family == PLUGIN else None
    return CorruptionCheck(name, plugin, tuple(trial.failures.values()), CHECKS[: 6 + large], seconds)


def _stages(declared: Corruption, parameters: Mapping[str, Any]) -> list[Stage]:
    """Return the stages to try.

    Severities of the first calibration that has rows, a few levels, or given parameters.
    """
    name, tables = declared.name, calibrations_of(declared.name)
    table = get_calibration(tables[0] if tables else "imagenet")
    if declared.gradual is not None:
        levels = [level for level in LEVELS if level <= declared.gradual.most]
        return [resolve_stage(name, table, level=level, parameters=parameters) for level in levels]
    if tables and not parameters:
        return [resolve_stage(name, table, severity=severity) for severity in sorted(table.rows[name])]
    middles = {p.name: _middle(p, name) for p in declared.columns if p.name not in parameters}
    return [resolve_stage(name, table, parameters=middles | dict(parameters))]


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
    """Return images with shades, edges and grain.

    Each of several is darker than the one before.
    """
    y, x = np.mgrid[:height, :width]
    shades = 128 + 70 * np.sin(x / 9) * np.cos(y / 7) + 30 * ((x // 5 + y // 6) % 2)
    grain = np.random.Generator(np.random.PCG64(1)).normal(0, 12, (count, height, width, channels))
    light = 1 - np.arange(count)[:, None, None, None] / 8
    drawn = np.clip(light * (shades[None, :, :, None] + grain + 9 * np.arange(channels)), 0, 255)
    images: Images = drawn.astype(np.uint8)
    return images


@dataclass
class _Trial:
    """A corruption that is tried, and the sentences of what is wrong with it."""

    declared: Corruption
    stages: Sequence[Stage]
    maker: SetMaker
    failures: dict[str, str] = field(default_factory=dict)
    """By what they are of: a fault is noted once, whatever its numbers are at other sizes."""

    def note(self, wrong: bool, fault: str, where: str = "") -> None:
        """Note a fault, if it is one."""
        if wrong:
            kind = re.sub(r"\d+", "", fault) if where else fault
            self.failures.setdefault(kind, f"{self.declared.name} {fault}{where and f', {where}'}.")

    def made(self, stage: Stage, images: Images, where: str) -> bool:
        """Apply a stage, note what is wrong in its images; return whether nothing is."""
        try:
            made = _apply(stage, self.maker, images)
            fault = output_problem(made, images, keeps_shape=self.declared.keeps_shape)
        except Exception as e:
            fault = str(e).removeprefix(f"The plugin {self.declared.module}: {self.declared.name} ")
        self.note(bool(fault), fault, where)
        return not fault

    def run(self, *, large: bool) -> None:
        """Try it here, then in another process, then on a `large` image."""
        for (height, width), channels, stage in product(SIZES, (1, 3), (self.stages[0], self.stages[-1])):
            where = f"at {height}x{width} with {channels} channel{'s' * (channels > 1)}"
            self.made(stage, _picture(height, width, channels), where)
        clean = _picture(64, 64, 3, len(IDS))
        by_stage, drawn = [("", clean)], list[bool]()
        for stage in self.stages:
            if not self.made(stage, clean.copy(), "at 64x64"):
                continue
            images, state = clean.copy(), _global_state(seed=1)
            together = _apply(stage, self.maker, images)
            self.note(not _equal(images, clean), "changes its input; work on a copy")
            self.note(state != _global_state(), "draws from a global generator; draw from the keys")
            _global_state(seed=2)
            again = _apply(stage, self.maker, images)
            self.note(
                not _equal(together, again), "makes other pixels in a second call; nothing may be kept between calls"
            )
            by_stage.append((stage.name, together))
            alone = np.concatenate([_apply(stage, self.maker, clean[[i]], [i]) for i in BATCH])
            self.note(not _equal(together, alone), "makes other pixels of an image in a batch than of the image alone")
            backwards = _apply(stage, self.maker, clean[::-1].copy(), BATCH[::-1])[::-1]
            self.note(not _equal(together, backwards), "makes other pixels of a batch in another order")
            alike = _apply(stage, self.maker, np.repeat(clean[:1], len(IDS), 0))
            drawn.append(bool((alike != alike[:1]).any()))
        if drawn and not self.declared.needs_model:
            fixed, by_key = self.declared.deterministic, any(drawn)
            fault = "says that it draws nothing (deterministic), and its output depends on the key"
            self.note(fixed and by_key, fault)
            fault = "makes the same of one image whatever its key; say deterministic=True, or draw from the keys"
            self.note(not fixed and not by_key, fault)
        for (name, one), (other_name, other) in combinations(by_stage, 2):
            same = f"makes the same at {name} and" if name else "changes nothing"
            self.note(_equal(one, other), f"{same} at {other_name}")
        if not self.failures:
            self.another_process()
        if large and not self.failures:
            image = np.tile(_picture(500, 500, 3), (1, 8, 12, 1))
            self.made(self.stages[-1], image, "at 4000x6000 with 3 channels")

    def another_process(self) -> None:
        """Try one stage in another process."""
        job = pickle.dumps((self.stages[-1], self.maker))
        with Workers(1) as workers:
            try:
                digest = workers.submit(_digest_of, job).result()
            except BrokenProcessPool:
                self.note(True, "ends another process that it runs in")
            else:
                self.note(digest != _digest_of(job), "makes other pixels in another process")


def _apply(stage: Stage, maker: SetMaker, images: Images, order: Sequence[int] | None = None) -> Images:
    """Apply one stage to images that are those of a batch in an order.

    By default its first ones.
    """
    order = BATCH[: len(images)] if order is None else order
    (key,) = chain_keys([stage], 0)
    given = {**maker.resources, "labels": np.array(order)}
    keys = sample_keys([IDS[i] for i in order])
    return apply_stage(check_images(images), stage, key, keys, side=maker.side, resources=given)


def _global_state(seed: int | None = None) -> bytes:
    """Return the state of the global generators, after they were seeded."""
    if seed is not None:
        np.random.seed(seed)  # noqa: NPY002
        random.seed(seed)
    return pickle.dumps((np.random.get_state(), random.getstate()))  # noqa: NPY002


def _digest_of(job: bytes) -> str:
    """Return the pixels' digest of what a pickled stage makes.

    A plugin is loaded by what unpickles it.
    """
    stage, maker = pickle.loads(job)
    return pixel_digest(_apply(stage, maker, _picture(64, 64, 3))[0])


def _equal(one: Images, other: Images) -> bool:
    return one.shape == other.shape and bool((one == other).all())
