"""The public function `check_corruption`, which tests whether a corruption meets its contract.

For a given key, the output of a corruption must be deterministic. It must not depend on the batch, the order or the
process. A corruption must also accept images of any size.
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

SIZES = ((8, 8), (8, 37), (41, 24), (64, 64), (97, 150))
"""The (height, width) pairs to test, each in grey and in colour."""
LEVELS = (1, 2, 5, 10, 30)
"""The levels of a gradual degradation to test."""
IDS = ("a", "b", "c", "d")
"""The ids of the images in the test batch. The label of each image is its position in the batch."""
BATCH = range(len(IDS))


@dataclass(frozen=True)
class CorruptionCheck:
    """The result of testing whether a corruption meets its contract."""

    corruption: str
    plugin: str | None
    """The module that defines the corruption, or None if it is part of corruptset."""
    failures: tuple[str, ...]
    """One sentence for each failure. The tuple is empty if the corruption meets its contract."""
    checks: tuple[str, ...]
    """The properties that were tested."""
    seconds: float
    """The time to corrupt one 224x224 colour image at the highest severity, or NaN if there are failures."""

    @property
    def ok(self) -> bool:
        """Whether there are no failures."""
        return not self.failures


class _MockModel:
    """A model for tests. Its gradient for an image depends only on the image and its label."""

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
    """Test whether a corruption meets its contract.

    A corruption must not modify its input. Equal inputs must give equal outputs, even in different processes. The
    output for an image must not depend on the rest of the batch. Random draws must depend only on the seed, the
    parameters and the key of the image, and not on a global random generator. Grey and colour images from 8x8 to
    4000x6000 must work. The output must be a uint8 array in the shape of the input, unless the corruption declares
    otherwise. Different severities must give different outputs.

    Parameters
    ----------
    name : str
        The name of the corruption.
    parameters : mapping, optional
        The parameters to test, for a corruption without a severity table. Parameters that are not given are set to the
        middle of their bounds.
    plugins : sequence of str or path, optional
        Python modules or files that define further corruptions.
    large : bool
        Whether to also test a 4000x6000 image.

    Returns
    -------
    CorruptionCheck
        The result, with one sentence for each failure.

    Raises
    ------
    UnknownCorruption, PluginError, ParameterError
        The corruption does not exist or cannot be called.
    """
    require_build()
    load_plugins(plugins or ())
    declared = get_corruption(name)
    resources = {"surrogate": _MockModel()} if declared.needs_model else {}
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
        _apply(trial.stages[-1], maker, _test_images(224, 224, 3))
        seconds = time.perf_counter() - started
    plugin = declared.module if declared.family == PLUGIN else None
    return CorruptionCheck(name, plugin, tuple(trial.failures.values()), _checks(trial.stages, large=large), seconds)


def _checks(stages: Sequence[Stage], *, large: bool) -> tuple[str, ...]:
    """Return the properties that are tested with some stages of a corruption."""
    if len(stages) > 1:
        kind = "severities" if stages[0].level is None else "levels"
        compared = f"{kind} differ from each other and from the clean image"
    elif stages[0].severity is not None:
        compared = "the output differs from the clean image; there is only one severity"
    else:
        values = ", ".join(f"{name} = {value}" for name, value in stages[0].parameters.items())
        compared = (
            f"the output{' with ' * bool(values)}{values} differs from the clean image; no severities were compared"
        )
    checks = (
        "the output is uint8 in the shape of the input, for sizes from 8x8, in grey and in colour",
        "the input is not modified, equal inputs give equal outputs, and no global random generator is used",
        "the output for an image does not depend on the other images of the batch or on their order",
        "the random draws depend only on the seed, the parameters and the key of the image",
        compared,
        "the output is the same in another process",
    )
    return (*checks, "one colour image of 4000x6000 works") if large else checks


def _stages(declared: Corruption, parameters: Mapping[str, Any]) -> list[Stage]:
    """Return the stages to test: a few levels of a gradual degradation, a stage per severity, or a single stage.

    Severities are taken from the first calibration that has the corruption. If there is none, or if parameters are
    given, there is a single stage.
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
            f"{corruption} has no severity table, and its parameter {parameter.name!r} has no bounds. Pass a value "
            f"with --param {parameter.name}=VALUE."
        )
    middle = (parameter.low + parameter.high) / 2
    return int(middle) if parameter.kind is int else middle


def _test_images(height: int, width: int, channels: int, count: int = 1) -> Images:
    """Return test images with gradients, edges and noise. Each image is darker than the one before."""
    y, x = np.mgrid[:height, :width]
    shades = 128 + 70 * np.sin(x / 9) * np.cos(y / 7) + 30 * ((x // 5 + y // 6) % 2)
    grain = np.random.Generator(np.random.PCG64(1)).normal(0, 12, (count, height, width, channels))
    light = 1 - np.arange(count)[:, None, None, None] / 8
    drawn = np.clip(light * (shades[None, :, :, None] + grain + 9 * np.arange(channels)), 0, 255)
    images: Images = drawn.astype(np.uint8)
    return images


@dataclass
class _Trial:
    """A test of one corruption. It collects failures."""

    declared: Corruption
    stages: Sequence[Stage]
    maker: SetMaker
    failures: dict[str, str] = field(default_factory=dict)
    """A mapping from failures, with their numbers removed, to sentences.

    Because of this, the same failure at several sizes is reported only once.
    """

    def require(self, condition: bool, failure: str, circumstances: str = "") -> None:
        """Record a failure if a condition is not met."""
        if not condition:
            kind = re.sub(r"\d+", "", failure) if circumstances else failure
            self.failures.setdefault(kind, f"{self.declared.name} {failure}{circumstances and f', {circumstances}'}.")

    def check_output(self, stage: Stage, images: Images, circumstances: str) -> bool:
        """Apply a stage, record a failure if its output is invalid, and return whether it is valid."""
        try:
            output = _apply(stage, self.maker, images)
            failure = output_problem(output, images, keeps_shape=self.declared.keeps_shape)
        except Exception as e:
            failure = str(e).removeprefix(f"The plugin {self.declared.module}: {self.declared.name} ")
        self.require(not failure, failure, circumstances)
        return not failure

    def run(self, *, large: bool) -> None:
        """Run all checks. If `large` is True, also test a large image."""
        for (height, width), channels, stage in product(SIZES, (1, 3), (self.stages[0], self.stages[-1])):
            size = f"at {height}x{width} with {channels} channel{'s' * (channels > 1)}"
            self.check_output(stage, _test_images(height, width, channels), size)
        clean = _test_images(64, 64, 3, len(IDS))
        outputs = [("", clean)]
        depends_on_key: list[bool] = []
        for stage in self.stages:
            if not self.check_output(stage, clean.copy(), "at 64x64"):
                continue
            images, state = clean.copy(), _global_state(seed=1)
            output = _apply(stage, self.maker, images)
            self.require(_are_equal(images, clean), "modifies its input; work on a copy")
            self.require(state == _global_state(), "uses a global random generator; draw from the keys")
            _global_state(seed=2)
            second = _apply(stage, self.maker, images)
            self.require(
                _are_equal(output, second), "returns different pixels in a second call; do not keep state between calls"
            )
            outputs.append((stage.name, output))
            alone = np.concatenate([_apply(stage, self.maker, clean[[i]], [i]) for i in BATCH])
            self.require(
                _are_equal(output, alone),
                "returns different pixels for an image in a batch than for the same image alone",
            )
            reverse = _apply(stage, self.maker, clean[::-1].copy(), BATCH[::-1])[::-1]
            self.require(_are_equal(output, reverse), "returns different pixels if the batch has a different order")
            copies = _apply(stage, self.maker, np.repeat(clean[:1], len(IDS), 0))
            depends_on_key.append(bool((copies != copies[:1]).any()))
        if depends_on_key and not self.declared.needs_model:
            if self.declared.deterministic:
                failure = "declares deterministic=True, but its output depends on the key; remove the declaration"
                self.require(not any(depends_on_key), failure)
            else:
                failure = "gives the same output for every key; declare deterministic=True, or draw from the keys"
                self.require(any(depends_on_key), failure)
        for (name, output), (other_name, other) in combinations(outputs, 2):
            same = f"gives the same output at {name} and" if name else "changes nothing"
            self.require(not _are_equal(output, other), f"{same} at {other_name}")
        if not self.failures:
            self.check_other_process()
        if large and not self.failures:
            image = np.tile(_test_images(500, 500, 3), (1, 8, 12, 1))
            self.check_output(self.stages[-1], image, "at 4000x6000 with 3 channels")

    def check_other_process(self) -> None:
        """Apply one stage in another process, and record a failure if its output differs."""
        job = pickle.dumps((self.stages[-1], self.maker))
        with Workers(1) as workers:
            try:
                digest = workers.submit(_digest_of, job).result()
            except BrokenProcessPool:
                self.require(False, "crashes in another process")
            else:
                self.require(digest == _digest_of(job), "returns different pixels in another process")


def _apply(stage: Stage, maker: SetMaker, images: Images, order: Sequence[int] | None = None) -> Images:
    """Apply one stage to images, and return the output.

    `order` contains the positions of the images in the test batch, which determine their ids and labels. By default,
    these are the first positions.
    """
    order = BATCH[: len(images)] if order is None else order
    (key,) = chain_keys([stage], 0)
    resources = {**maker.resources, "labels": np.array(order)}
    keys = sample_keys([IDS[i] for i in order])
    return apply_stage(check_images(images), stage, key, keys, side=maker.side, resources=resources)


def _global_state(seed: int | None = None) -> bytes:
    """Return the state of the global random generators. If a seed is given, seed them first."""
    if seed is not None:
        np.random.seed(seed)  # noqa: NPY002
        random.seed(seed)
    return pickle.dumps((np.random.get_state(), random.getstate()))  # noqa: NPY002


def _digest_of(job: bytes) -> str:
    """Apply a pickled stage to a test image, and return the pixel digest of the output.

    Unpickling loads the plugin that defines the corruption.
    """
    stage, maker = pickle.loads(job)
    return pixel_digest(_apply(stage, maker, _test_images(64, 64, 3))[0])


def _are_equal(a: Images, b: Images) -> bool:
    return a.shape == b.shape and bool((a == b).all())
