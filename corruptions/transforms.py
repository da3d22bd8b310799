"""The class `Corrupt`, which wraps a corruption or chain as a callable for data loaders."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar, overload

import numpy as np

from ..errors import ParameterError, UnknownCorruption
from .calibrations import DEFAULT_LADDER, Calibration, for_shape
from .call import ResolvedChain, check_ids, resolve
from .image_types import to_batch
from .plugins import Plugin, loaded_plugins
from .registry import Shape
from .stages import Coupling, Scale

Image = TypeVar("Image")
_SHAPES: tuple[Shape, ...] = ((224, 224, 3), (64, 64, 3), (32, 32, 3), (28, 28, 1))
"""One image shape for each calibration that can be chosen by image size."""


class Corrupt:
    """Corrupt images with a fixed corruption or chain, as a callable for data loaders.

    The output bytes do not depend on the process or on the order of the images, and equal those of `corrupt`. Arrays,
    PIL images and tensors are accepted, and the result has the type of the input. Instances can be pickled.

    Parameters
    ----------
    name : str or sequence of stages
        The name of a corruption (``"fog"``), a set id (``"fog-3+gaussian_noise-5"``) or a list of stages, as in
        `corrupt`. Corruptions that use a model's gradient are not supported.
    severity, level, calibration, ladder, scale, coupling, seed, **parameters
        The same as in `corrupt`. The default calibration depends on the size of each image.

    Raises
    ------
    UnknownCorruption
        If there is no corruption of this name.
    ParameterError
        If an argument is invalid, or a parameter is missing.

    Examples
    --------
    >>> import numpy as np
    >>> fog = Corrupt("fog", severity=3)
    >>> fog
    Corrupt('fog', severity=3)
    >>> fog(np.full((32, 48, 3), 128, np.uint8)).shape
    (32, 48, 3)
    """

    def __init__(
        self,
        name: str | Sequence[Any],
        *,
        severity: float | None = None,
        level: int | None = None,
        calibration: str | Path | Calibration | None = None,
        ladder: str = DEFAULT_LADDER,
        scale: Scale = "none",
        coupling: Coupling = "independent",
        seed: int = 0,
        **parameters: Any,
    ) -> None:
        options = {"calibration": calibration, "ladder": ladder, "scale": scale, "coupling": coupling, "seed": seed}
        self._made_with = {"name": name, "severity": severity, "level": level, **options, **parameters}
        for key, value in self._made_with.items():
            with suppress(TypeError):  # Some objects, such as generators and open files, cannot be copied.
                self._made_with[key] = copy.deepcopy(value)
        self._chains: dict[str | None, ResolvedChain] = {}
        problems: list[UnknownCorruption | ParameterError] = []
        # The arguments are valid if they are valid for at least one of the image sizes that determine a calibration.
        for shape in _SHAPES:
            try:
                needs_model = self._chain(shape).needs_model
                break
            except (UnknownCorruption, ParameterError) as e:
                problems.append(e)
        else:
            raise problems[0]
        if needs_model:
            raise ParameterError(
                f"{name!r} uses the gradients of a model and needs the label of each image. Call "
                f"corruptset.corrupt(image, {name!r}, ..., surrogate=..., label=...) instead."
            )

    @overload
    def __call__(self, image: Image, /, *, key: str | int | Sequence[str] | None = None) -> Image: ...
    @overload
    def __call__(
        self, image: Image, other: Any, /, *others: Any, key: str | int | Sequence[str] | None = None
    ) -> tuple[Any, ...]: ...
    def __call__(self, image: Any, /, *others: Any, key: str | int | Sequence[str] | None = None) -> Any:
        """Corrupt an image, and return it together with any other inputs.

        Parameters
        ----------
        image : (H, W), (H, W, 1), (H, W, 3) or (N, H, W, C) ndarray of uint8, PIL image, or tensor of uint8
            The image or batch, which is not modified. The shape of a tensor is (C, H, W) or (N, C, H, W).
        *others
            Labels, boxes and other values of a pipeline, which are returned unchanged.
        key : str or int, or one str for each image of a batch, optional
            The name or index of the image (7 means ``"7"``), which determines its random draws. By default, the key is
            computed from the pixels, as in `corrupt`.

        Returns
        -------
        ndarray, PIL image, tensor or tuple
            The corrupted image, with the type of the input. If `others` are given, the result is a tuple of the image
            and these values.

        Raises
        ------
        ImageError
            If the image has an unsupported type, dtype, shape or mode.
        ParameterError
            If the key or a parameter does not fit the image.
        """
        images = to_batch(image)
        ids = None
        if key is not None:
            ids = check_ids(str(key) if isinstance(key, (int, np.integer)) else key, len(images.batch))
        chain = self._chain(images.batch.shape[1:])
        out = images.restore(chain.apply(images.batch, chain.keys(images.batch, ids)))
        return (out, *others) if others else out

    def _chain(self, shape: Shape) -> ResolvedChain:
        name, calibration = self._made_with["name"], self._made_with["calibration"]
        fitting = for_shape(*shape) if calibration is None else None
        if fitting not in self._chains:
            given = {key: value for key, value in self._made_with.items() if key not in ("name", "calibration")}
            self._chains[fitting] = resolve(name, shape, calibration, {}, **given)
        return self._chains[fitting]

    def __repr__(self) -> str:
        defaults = inspect.signature(Corrupt).parameters
        (_, name), *options = self._made_with.items()
        # The reprs are compared, because comparing arrays returns an array.
        others = [
            f"{key}={value!r}"
            for key, value in options
            if key not in defaults or repr(value) != repr(defaults[key].default)
        ]
        return f"Corrupt({', '.join([repr(name), *others])})"

    def __reduce__(self) -> Any:
        return _unpickled, (self._made_with, loaded_plugins())


def _unpickled(made_with: dict[str, Any], plugins: Sequence[Plugin]) -> Corrupt:
    return Corrupt(**made_with)  # The plugins were loaded when `plugins` was unpickled.
