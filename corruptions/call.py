"""`corrupt`: one corruption or chain on one image or batch."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterError
from .calibrations import DEFAULT_LADDER, Calibration
from .image_types import take
from .registry import corruption_names, get_corruption
from .resolution import resolve
from .stages import Coupling, Scale, Stage

if TYPE_CHECKING:
    from .models.surrogate import Surrogate

Image = TypeVar("Image")
"""An array, a PIL image or a tensor: what comes in is what comes out."""


def corrupt(
    image: Image,
    name: str | Sequence[Any],
    *,
    severity: float | None = None,
    level: int | None = None,
    calibration: str | Path | Calibration | None = None,
    ladder: str = DEFAULT_LADDER,
    scale: Scale = "none",
    coupling: Coupling = "independent",
    seed: int = 0,
    key: str | Sequence[str] | None = None,
    surrogate: str | Path | Surrogate | None = None,
    label: int | None = None,
    labels: Sequence[int] | NDArray[np.int64] | None = None,
    **parameters: Any,
) -> Image:
    """Corrupt one image, or a batch.

    Parameters
    ----------
    image : (H, W), (H, W, 1), (H, W, 3) or (N, H, W, C) ndarray of uint8, PIL image, or tensor of uint8
        RGB or grey, at least 8x8. It is left untouched. A PIL image has mode RGB or L; a tensor of torch has its channels first:
        (C, H, W) or (N, C, H, W).
    name : str or sequence of stages
        A corruption (``"fog"``), a set id (``"fog/3"``, ``"fog-2.25+gaussian_noise-5"``, ``"clean"``), or a list of
        stages: names with a severity or level (``("fog", 3)``), mappings (``{"corruption": "fog", "severity": 3}``, or with
        ``"parameters"``), or `Stage` objects.
    severity : int or float, optional
        1..5, where `name` is a bare corruption; between them a fraction of at most two decimals, whose parameters are interpolated linearly
        between the table's rows. 0 leaves the image as it is.
    level : int, optional
        1, 2, ..., where `name` is a bare gradual degradation: so many steps, each from the one before. 0 leaves the image as it is.
    calibration : str, path or Calibration, optional
        ``imagenet``, ``inception``, ``tiny``, ``cifar``, ``mnist``, or a table file; by default chosen by the short side
        (up to 28 and grey ``mnist``, or ``cifar`` where a corruption has no row there; up to 48 ``cifar``, up to 96
        ``tiny``, else ``imagenet``).
    ladder : {"evaluated", "text"}
        Whose parameters gradual degradations have: those of the results of Swingler 2022, or those of its text.
    scale : {"none", "side"}
        Whether lengths scale with the short side over the calibration's.
    coupling : {"independent", "severity"}
        Whether severities draw anew or share their draws.
    seed : int
        0..2**53 - 1.
    key : str, or one str for each image of a batch, optional
        The image's name, from which its random draws follow; a build uses the sample id. By default an image's own pixels are its key
        (``blake3:`` and the hash, as in a data set's records). So different images get different noise, in a loop as in a batch, and
        the same image always gets the same: give equal images different keys where they are to differ.
    surrogate : str, path or Surrogate, optional
        The model of a corruption that follows a gradient (``pgd``, ``model_gradient``): a model file, or what `load_surrogate` returns,
        which saves loading it at each call.
    label : int, optional
        The class of the image, as an index of the model's outputs, for a corruption that follows a gradient; `labels` of a batch.
    labels : sequence of int, optional
        A label for each image of a batch.
    **parameters
        The corruption's parameters, which override the table's; its draws, given in place of drawn ones (one draw
        serves a whole batch); its resources.

    Returns
    -------
    What came in: an array of its dimensions, a PIL image of its mode, or a tensor on its device

    Raises
    ------
    UnknownCorruption, ParameterError, ImageError
    ModelError
        The surrogate cannot be used, or not for these images or labels.

    Examples
    --------
    >>> import numpy as np
    >>> image = np.full((32, 48, 3), 128, np.uint8)
    >>> corrupt(image, "gaussian_noise", severity=3).shape
    (32, 48, 3)
    >>> bool((corrupt(image, "brightness-1+contrast-2") == corrupt(corrupt(image, "brightness/1"), "contrast/2")).all())
    True
    """
    taken = take(image)
    count = len(taken.batch)
    chain = resolve(
        name,
        taken.batch.shape[1:],
        severity=severity,
        level=level,
        calibration=calibration,
        ladder=ladder,
        scale=scale,
        coupling=coupling,
        seed=seed,
        parameters=parameters,
    )
    keys = chain.keys(taken.batch, None if key is None else check_ids(key, count, taken.single))
    model = _model([stage for stage, _, _ in chain.links], surrogate, _labels(label, labels, count, taken.single))
    corrupted: Image = taken.give_back(chain.apply(taken.batch, keys, model))
    return corrupted


def check_ids(key: str | Sequence[str], count: int, single: bool) -> list[str]:
    """Return the ids that a call gives its images, or raise `ParameterError`."""
    ids = [key] if isinstance(key, str) else list(key) if isinstance(key, Sequence) else [key]
    if any(not isinstance(i, str) for i in ids):
        raise ParameterError(f"key is {key!r}; expected a string{'' if single else ', or one for each image'}.")
    if len(ids) != count:
        raise ParameterError(f"{len(ids)} key{'s' * (len(ids) != 1)} for {count} image{'s' * (count != 1)}: give one for each.")
    return ids


def _labels(label: Any, labels: Any, count: int, single: bool) -> NDArray[np.int64] | None:
    """Return a label for each image, or None where none is given."""
    if label is None and labels is None:
        return None
    if label is not None and labels is not None:
        raise ParameterError("label and labels are given; expected label for one image, or labels for a batch.")
    given = np.asarray(label if labels is None else labels, None if count else np.int64)  # an empty list would be one of floats
    if given.dtype.kind not in "iu" or given.shape not in (((), (1,)) if single else ((count,),)):
        expected = "one whole number" if single else f"labels, {count} whole numbers: one for each image"
        raise ParameterError(f"{'label' if labels is None else 'labels'} is {label if labels is None else labels!r}; expected {expected}.")
    return given.astype(np.int64).reshape(count)


def _model(chain: Sequence[Stage], surrogate: Any, labels: NDArray[np.int64] | None) -> dict[str, Any]:
    """Return the resources of stages that follow a model's gradient."""
    if surrogate is None and labels is None:
        return {}
    given = {"surrogate": surrogate, "labels": labels}
    named = [name for name, value in given.items() if value is not None]
    if named and not any(get_corruption(stage.corruption).needs_model for stage in chain):
        needing = [name for name in corruption_names() if get_corruption(name).needs_model]
        raise ParameterError(f"{' and '.join(named)} can be given only with a corruption that follows a model: {', '.join(needing)}.")
    if isinstance(surrogate, (str, Path)):
        from .models.surrogate import load_surrogate

        given["surrogate"] = load_surrogate(surrogate)
    return {name: given[name] for name in named}
