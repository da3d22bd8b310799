"""`Corrupt` and `RandomCorrupt`.

Corruptions as callables, for images of a model that trains or is evaluated.
"""

from __future__ import annotations

import copy
import hashlib
import inspect
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from ..arguments import as_list
from ..errors import ParameterError, UnknownCorruption
from .calibrations import DEFAULT_LADDER, SEVERITIES, Calibration, for_shape
from .call import ResolvedChain, check_ids, resolve
from .image_types import Taken, take
from .keys import MAX_SEED, check_seed, hash64, pixel_keys, sample_keys
from .plugins import Plugin, loaded_plugins
from .registry import Images, Shape, get_corruption, is_corruption
from .stages import Coupling, Scale

Image = TypeVar("Image")
_SHAPES: tuple[Shape, ...] = ((224, 224, 3), (64, 64, 3), (32, 32, 3), (28, 28, 1))
"""One shape for each calibration that follows from an image."""


class _Transform:
    """An image's corruption beside other inputs; it is what it was made with."""

    def __init__(self, made_with: dict[str, Any]) -> None:
        self._made_with = made_with
        for name, value in made_with.items():
            with suppress(TypeError):  # a generator, or an open file's array, cannot be copied
                made_with[name] = copy.deepcopy(value)

    @overload
    def __call__(self, image: Image, /, *, key: str | int | Sequence[str] | None = None) -> Image: ...
    @overload
    def __call__(
        self, image: Image, other: Any, /, *others: Any, key: str | int | Sequence[str] | None = None
    ) -> tuple[Any, ...]: ...
    def __call__(self, image: Any, /, *others: Any, key: str | int | Sequence[str] | None = None) -> Any:
        """Return what becomes of an image.

        Other inputs, such as its label, come back behind it.

        Parameters
        ----------
        image : (H, W), (H, W, 1), (H, W, 3) or (N, H, W, C) ndarray of uint8, PIL image, or tensor of uint8, (C, H, W)
        or (N, C, H, W)
            It is left untouched.
        *others
            Whatever else a pipeline hands from step to step.
        key : str or int, or one str for each image of a batch, optional
            The image's name or index (7 is ``"7"``), from which its random draws follow; by default its own pixels, as
            in `corrupt`.

        Returns
        -------
        An image of the type that came in; a tuple of it and the others where there are some

        Raises
        ------
        ImageError, ParameterError
        """
        taken = take(image)
        out = self._apply(image, taken, _ids(taken, key))
        return (out, *others) if others else out

    def _apply(self, image: Any, taken: Taken, ids: list[str] | None) -> Any:
        raise NotImplementedError

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self)).parameters
        (_, first), *options = self._made_with.items()
        # compared by their words: an array does not compare to one truth
        others = [
            f"{name}={value!r}"
            for name, value in options
            if name not in defaults or repr(value) != repr(defaults[name].default)
        ]
        return f"{type(self).__name__}({', '.join([repr(first), *others])})"

    def __reduce__(self) -> Any:
        return _made_again, (type(self), self._made_with, loaded_plugins())


def _made_again(kind: type[_Transform], made_with: dict[str, Any], plugins: Sequence[Plugin]) -> _Transform:
    return kind(**made_with)  # plugins were loaded when they were unpickled


class Corrupt(_Transform):
    """A corruption or chain as a callable: `corrupt` with everything but the image resolved.

    An image becomes the same bytes in every process and in any order, and those that `corrupt` gives it. It takes and
    returns arrays, PIL images and tensors, and can be pickled.

    Parameters
    ----------
    name : str or sequence of stages
        As in `corrupt`: a corruption (``"fog"``), a set id (``"fog-3+gaussian_noise-5"``) or a list of stages. Not one
        that follows a model's gradient.
    severity, level, calibration, ladder, scale, coupling, seed, **parameters
        As in `corrupt`. Without a calibration it follows from each image's size.

    Raises
    ------
    UnknownCorruption, ParameterError

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
        super().__init__({"name": name, "severity": severity, "level": level, **options, **parameters})
        self._chains: dict[str | None, ResolvedChain] = {}
        problems: list[UnknownCorruption | ParameterError] = []
        # as for an image of each size that has a calibration of its own, until one has what the arguments name
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
                f"{name!r} follows the gradient of a model and needs each image's label: call "
                f"corruptset.corrupt(image, {name!r}, ..., surrogate=..., label=...)."
            )

    def _chain(self, shape: Shape) -> ResolvedChain:
        name, calibration, *_ = self._made_with["name"], self._made_with["calibration"]
        fitting = for_shape(*shape) if calibration is None else None
        if fitting not in self._chains:
            given = {key: value for key, value in self._made_with.items() if key not in ("name", "calibration")}
            self._chains[fitting] = resolve(name, shape, calibration, {}, **given)
        return self._chains[fitting]

    def _apply(self, image: Any, taken: Taken, ids: list[str] | None) -> Any:
        chain = self._chain(taken.batch.shape[1:])
        return taken.give_back(chain.apply(taken.batch, chain.keys(taken.batch, ids)))

    def apply(self, images: Images, keys: NDArray[np.uint64]) -> Images:
        """Return what becomes of a batch (N, H, W, C) whose images have these keys."""
        return self._chain(images.shape[1:]).apply(images, keys)


class RandomCorrupt(_Transform):
    """A corruption that is drawn for each image: whether, which, how strong.

    Everything is drawn from the image's key, the seed and the epoch, never from a generator with a state: an image
    becomes the same bytes in every process and in any order. `with_epoch` draws anew.

    Parameters
    ----------
    names : str or sequence
        What is drawn from, each with the same probability: corruptions (``"fog"``), set ids (``"fog/3"``,
        ``"fog-3+gaussian_noise-5"``, ``"clean"``) or lists of stages.
    severities : iterable of int or float
        What the severity of a bare corruption is drawn from, each with the same probability.
    levels : iterable of int
        The same for a gradual degradation.
    p : float
        0..1, the share of images that are corrupted. Any other is returned itself.
    seed : int
        0..2**53 - 1.
    epoch : int
        0, 1, ... In epoch 0 the stages draw from `seed`, later from a seed that follows from it and the epoch.
    calibration, ladder, scale, coupling
        As in `corrupt`.

    Raises
    ------
    UnknownCorruption, ParameterError

    Examples
    --------
    >>> import numpy as np
    >>> augment = RandomCorrupt(["fog", "contrast"], severities=[1, 2, 3], p=0.8)
    >>> augment
    RandomCorrupt(['fog', 'contrast'], severities=[1, 2, 3], p=0.8)
    >>> augment(np.full((32, 48, 3), 128, np.uint8), key="n01440764_10026").shape
    (32, 48, 3)
    """

    def __init__(
        self,
        names: str | Sequence[Any],
        *,
        severities: Iterable[float] = SEVERITIES,
        levels: Iterable[int] = range(1, 31),
        p: float = 0.5,
        seed: int = 0,
        epoch: int = 0,
        calibration: str | Path | Calibration | None = None,
        ladder: str = DEFAULT_LADDER,
        scale: Scale = "none",
        coupling: Coupling = "independent",
    ) -> None:
        shared: dict[str, Any] = {"calibration": calibration, "ladder": ladder, "scale": scale, "coupling": coupling}
        numbers = {"severities": _kept(severities), "levels": _kept(levels)}
        super().__init__({"names": names, **numbers, "p": p, "seed": seed, "epoch": epoch, **shared})
        if isinstance(p, bool) or not isinstance(p, (int, float, np.number)) or not 0 <= p <= 1:
            raise ParameterError(f"p is {p!r}; expected the share of images that are corrupted, from 0 to 1.")
        if not names or not isinstance(names, (str, Sequence)):
            raise ParameterError(f"names is {names!r}; expected corruptions or set ids, such as ['fog', 'snow'].")
        shared["seed"] = _epoch_seed(check_seed(seed), epoch)
        self._choices: list[list[Corrupt]] = []
        for item in as_list(self._made_with["names"]):
            which: list[dict[str, Any]] = [{}]
            if isinstance(item, str) and is_corruption(item):  # not a set id or a list of stages
                plural = "severities" if get_corruption(item).gradual is None else "levels"
                if not numbers[plural] or 0 in numbers[plural]:
                    raise ParameterError(f"{plural} is {numbers[plural]!r}; expected some from 1 on, such as [1, 3].")
                which = [{"severity" if plural == "severities" else "level": number} for number in numbers[plural]]
            self._choices.append([Corrupt(item, **number, **shared) for number in which])
        self._salt = int(hash64(["RandomCorrupt", 1, shared["seed"]])).to_bytes(8, "little")
        self._below = float(p) * 2.0**64

    def with_epoch(self, epoch: int) -> RandomCorrupt:
        """Return the same for another epoch, in which everything is drawn anew."""
        return RandomCorrupt(**{**self._made_with, "epoch": epoch})

    def choice(self, image: Any, *, key: str | int | Sequence[str] | None = None) -> Corrupt | None:
        """Return what one image is corrupted by, or None where it stays as it is."""
        taken = take(image)
        if len(taken.batch) != 1:
            raise ParameterError(f"choice is of one image; this is a batch of {len(taken.batch)}.")
        return self._choice(_keys(taken, _ids(taken, key))[0])

    def _choice(self, key: np.uint64) -> Corrupt | None:
        # 2**64 numbers for each of three draws: a remainder of choices that are drawn more often is of no account
        digest = hashlib.blake2b(self._salt + int(key).to_bytes(8, "little"), digest_size=24).digest()
        whether, which, strength = (int.from_bytes(digest[at : at + 8], "little") for at in (0, 8, 16))
        if whether >= self._below:
            return None
        choices = self._choices[which * len(self._choices) >> 64]
        return choices[strength * len(choices) >> 64]

    def _apply(self, image: Any, taken: Taken, ids: list[str] | None) -> Any:
        keys = _keys(taken, ids)
        chosen = [self._choice(key) for key in keys]
        if not any(chosen):
            return image
        made = [
            taken.batch[i : i + 1] if one is None else one.apply(taken.batch[i : i + 1], keys[i : i + 1])
            for i, one in enumerate(chosen)
        ]
        return taken.give_back(np.concatenate(made))


def _ids(taken: Taken, key: Any) -> list[str] | None:
    if key is None:
        return None
    return check_ids(str(key) if isinstance(key, (int, np.integer)) else key, len(taken.batch))


def _keys(taken: Taken, ids: list[str] | None) -> NDArray[np.uint64]:
    return pixel_keys(taken.batch) if ids is None else sample_keys(ids)


def _kept(numbers: Any) -> Any:
    """Return severities or levels as they are kept: in a sequence."""
    return numbers if isinstance(numbers, Sequence) and not isinstance(numbers, str) else as_list(numbers)


def _epoch_seed(seed: int, epoch: Any) -> int:
    if isinstance(epoch, bool) or not isinstance(epoch, (int, np.integer)) or not 0 <= int(epoch) <= MAX_SEED:
        raise ParameterError(f"epoch is {epoch!r}; expected a whole number from 0.")
    return int(hash64(["epoch", seed, int(epoch)])) & MAX_SEED if epoch else seed
