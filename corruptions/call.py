"""The function `corrupt`, which applies a corruption or a chain to an image or a batch.

The arguments of a call are resolved to stages, and the result is cached for later calls with the same arguments.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..arguments import as_list, check_choice
from ..errors import ParameterError
from .calibrations import DEFAULT_LADDER, Calibration, check_ladder, for_shape, get_calibration, with_fallback
from .image_types import to_batch
from .keys import check_seed, pixel_keys, sample_keys
from .registry import Corruption, Images, Int64Array, Shape, corruption_names, get_corruption, plugin_declarations
from .stages import (
    COUPLINGS,
    SCALES,
    Coupling,
    Scale,
    Stage,
    apply_stage,
    chain_keys,
    check_revision,
    is_unchanged,
    parse_chain,
    resolve_number,
    resolve_stage,
)

if TYPE_CHECKING:
    from .models.protocol import Model

Image = TypeVar("Image")
"""An array, a PIL image or a tensor. The result has the type of the input."""


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
    surrogate: str | Path | Model | None = None,
    label: int | None = None,
    labels: Sequence[int] | Int64Array | None = None,
    **parameters: Any,
) -> Image:
    """Apply a corruption or a chain of corruptions to an image or a batch.

    Parameters
    ----------
    image : (H, W), (H, W, 1), (H, W, 3) or (N, H, W, C) ndarray of uint8, PIL image, or tensor of uint8
        An RGB or grey image of at least 8x8 pixels, or a batch of images of one size. The input is not modified. A PIL
        image must have the mode RGB or L. A torch tensor must have its channels first: (C, H, W) or (N, C, H, W).
    name : str or sequence of stages
        The name of a corruption (``"fog"``), a set id (``"fog/3"``, ``"fog-2.25+gaussian_noise-5"``, ``"clean"``), or a
        list of stages. A stage in a list is a name with a severity or level (``("fog", 3)``), a mapping
        (``{"corruption": "fog", "severity": 3}``, or with ``"parameters"``), or a `Stage`.
    severity : int or float, optional
        The severity, from 0 to 5, if `name` is the name of a corruption. A fractional severity has at most two
        decimals, and its parameters are interpolated linearly between the rows of the calibration. Severity 0 returns a
        copy of the image.
    level : int, optional
        The level, from 0, if `name` is the name of a gradual degradation. The level is the number of steps. Most
        degradations start each step from the result of the previous step. Level 0 returns a copy of the image.
    calibration : str, path or Calibration, optional
        The parameters of the severities: ``imagenet``, ``inception``, ``tiny``, ``cifar``, ``mnist``, or the path of a
        table file. By default, the calibration depends on the short side of the image: ``mnist`` for grey images of up
        to 28 pixels (or ``cifar`` for corruptions without a row in ``mnist``), ``cifar`` up to 48, ``tiny`` up to 96,
        and ``imagenet`` for larger images.
    ladder : {"evaluated", "text"}
        The parameters of gradual degradations: those used for the results of Swingler 2022, or those in the paper's
        text.
    scale : {"none", "side"}
        With ``"side"``, lengths in pixels are scaled in proportion to the short side of the image. The reference is the
        short side for which the calibration was tuned.
    coupling : {"independent", "severity"}
        With ``"independent"``, the severities of a corruption draw different random values for the same image. With
        ``"severity"``, all severities share these values.
    seed : int
        The random seed, from 0 to 2**53 - 1.
    key : str, or one str for each image of a batch, optional
        The name of the image, which determines its random draws together with the seed. A build uses the sample id. By
        default, the key is computed from the pixels (``blake3:`` and the hash, as in the records of a dataset).
        Different images therefore get different noise, and the same image always gets the same noise. To corrupt equal
        images differently, give them different keys.
    surrogate : str, path or model, optional
        The model for a corruption that uses a model's gradient (``pgd``, ``model_gradient``). Pass a model file, the
        result of `load_surrogate`, or an object with the methods ``logits`` and ``gradient`` (docs/models.md). A model
        file is read again at each call.
    label : int, optional
        The class of the image, as an index into the model's outputs, for a corruption that uses a model's gradient.
    labels : sequence of int, optional
        The classes of a batch, one label per image.
    **parameters
        Three kinds of values can be given. Parameters of the corruption override those of the calibration. Values for
        the random draws of the corruption are used for all images instead of drawn values. Resources replace the
        default resources of the corruption, such as the textures of frost.

    Returns
    -------
    ndarray, PIL image or tensor
        The corrupted image or batch. It has the same type and number of dimensions as the input. A PIL image keeps its
        mode, and a tensor keeps its device.

    Raises
    ------
    UnknownCorruption
        If there is no corruption of this name.
    ParameterError
        If an argument is invalid, or a parameter is missing.
    ImageError
        If the image has an unsupported type, dtype, shape or mode.
    ModelError
        If the surrogate cannot be used, or does not fit these images or labels.

    Examples
    --------
    >>> import numpy as np
    >>> image = np.full((32, 48, 3), 128, np.uint8)
    >>> corrupt(image, "gaussian_noise", severity=3).shape
    (32, 48, 3)
    >>> bool((corrupt(image, "brightness-1+contrast-2") == corrupt(corrupt(image, "brightness/1"), "contrast/2")).all())
    True
    """
    images = to_batch(image)
    count = len(images.batch)
    given = {
        "severity": severity,
        "level": level,
        "ladder": ladder,
        "scale": scale,
        "coupling": coupling,
        "seed": seed,
    }
    chain = resolve(name, images.batch.shape[1:], calibration, parameters, **given)
    keys = chain.keys(images.batch, None if key is None else check_ids(key, count))
    model = _model(chain, surrogate, _labels(label, labels, count))
    corrupted: Image = images.restore(chain.apply(images.batch, keys, model))
    return corrupted


@dataclass(frozen=True)
class ResolvedChain:
    """A chain of stages with their keys and options.

    It contains everything in a call to `corrupt` that does not depend on the pixels of the image.
    """

    links: tuple[tuple[Stage, np.uint64, int], ...]
    """Each stage with its key and the reference side of its calibration in pixels."""
    scale: Scale
    draws: Mapping[str, Any]
    resources: Mapping[str, Any]

    @property
    def needs_model(self) -> bool:
        """Whether a stage uses a model's gradient."""
        return any(get_corruption(stage.corruption).needs_model for stage, _, _ in self.links)

    def keys(self, images: Images, ids: Sequence[str] | None) -> NDArray[np.uint64]:
        """Return the key of each image, computed from its id, or from its pixels if there are no ids."""
        # Hashing an image of 150 kB takes longer than many kernels, and deterministic corruptions ignore the key.
        if all(get_corruption(stage.corruption).deterministic for stage, _, _ in self.links):
            return np.zeros(len(images), np.uint64)
        return pixel_keys(images) if ids is None else sample_keys(ids)

    def apply(self, images: Images, keys: NDArray[np.uint64], resources: Mapping[str, Any] | None = None) -> Images:
        """Apply the chain to a batch that `check_images` has accepted, and return a new array."""
        given = {**self.resources, **(resources or {})}
        out = images if self.links else images.copy()
        for stage, key, side in self.links:
            out = apply_stage(out, stage, key, keys, side=side, scale=self.scale, draws=self.draws, resources=given)
        return out


def resolve(
    name: Any, shape: Shape, calibration: str | Path | Calibration | None, parameters: Mapping[str, Any], **options: Any
) -> ResolvedChain:
    """Resolve the arguments of `corrupt` to a chain for images of a shape (H, W, C).

    Every invalid argument raises an error, except that the image, the key, the surrogate and the labels are not checked
    here.
    """
    named = for_shape(*shape) if calibration is None else calibration
    call = functools.partial(_resolve_chain, name, named, calibration is None, **options, **parameters)
    # The result is not cached if it depends on a file or folder, or on an array or list, because these can change.
    can_change = not isinstance(named, str) or named.endswith(".toml") or "textures" in call.keywords
    if isinstance(name, str) and not can_change:
        try:
            return _resolve_cached(plugin_declarations(name), *call.args, **call.keywords)
        except TypeError:  # An argument is not hashable.
            pass
    return call()


def _resolve_chain(
    name: Any,
    named: Any,
    fits: bool,
    /,
    *,
    severity: Any,
    level: Any,
    ladder: Any,
    scale: Any,
    coupling: Any,
    seed: Any,
    **parameters: Any,
) -> ResolvedChain:
    for what, value, known in (("scale", scale, SCALES), ("coupling", coupling, COUPLINGS)):
        check_choice(what, value, known)
    table = replace(with_fallback(named) if fits else get_calibration(named), ladder=check_ladder(ladder))
    draws, resources = dict[str, Any](), dict[str, Any]()
    if isinstance(name, str) and name.isidentifier() and name != "clean":
        declared = get_corruption(name)
        draws = {d.name: parameters.pop(d.name) for d in declared.draws if d.name in parameters}
        resources = {r: parameters.pop(r) for r in declared.resources if r in parameters}
        if name == "frost" and resources.get("textures") is not None:
            from .weather.textures import given_textures

            resources["textures"] = given_textures(resources["textures"])
        chain = _stage(table, name, severity, level, parameters)
    else:
        if not isinstance(name, Sequence):
            raise ParameterError(
                f"name is of type {type(name).__name__}; expected a corruption, a set id or a list of stages."
            )
        items = [parse_chain(name, table)] if isinstance(name, str) else [_stages(item, table) for item in name]
        numbers = {"severity": severity, "level": level}
        given = [f"{what}={number}" for what, number in numbers.items() if number is not None] + list(parameters)
        if given:
            raise ParameterError(
                f"{name!r} already includes its severities. Leave {', '.join(given)} out, or pass the name of a single "
                "corruption."
            )
        chain = tuple(stage for stages in items for stage in stages)
    keys = chain_keys(chain, check_seed(seed), coupling)
    links = tuple((stage, key, table.of(stage.corruption).side) for stage, key in zip(chain, keys, strict=True))
    return ResolvedChain(links, scale, draws, resources)


# The cache is typed because 1 is a valid severity and True is not. About 400 entries are needed for all corruptions at
# all severities in two image sizes.
@functools.lru_cache(maxsize=1024, typed=True)
def _resolve_cached(declared: Sequence[Corruption | None], /, *given: Any, **options: Any) -> ResolvedChain:
    """Return the chain of a call from a cache, unless a plugin has declared the corruption again in the meantime."""
    return _resolve_chain(*given, **options)


def _stage(
    table: Calibration, name: str, severity: Any = None, level: Any = None, parameters: Mapping[str, Any] | None = None
) -> tuple[Stage, ...]:
    """Return the stage of a corruption as a tuple, which is empty at severity or level 0."""
    number, other = (severity, level) if get_corruption(name).gradual is None else (level, severity)
    if not parameters and other is None and is_unchanged(name, number):
        return ()
    return (resolve_stage(name, table, severity=severity, level=level, parameters=parameters),)


def _stages(item: Any, table: Calibration) -> tuple[Stage, ...]:
    """Return the stages for one item of a list, without stages that have severity or level 0."""
    if isinstance(item, Stage):
        check_revision(get_corruption(item.corruption), item.revision)
        return (item,)
    if isinstance(item, str) and "+" not in item and item != "clean":
        return parse_chain(item, table)
    fields = {*Stage.__annotations__} - {"from_table"}
    if (
        isinstance(item, Mapping)
        and {*item} <= fields
        and isinstance(name := item.get("corruption"), str)
        and isinstance(parameters := item.get("parameters") or {}, Mapping)
    ):
        if (revision := item.get("revision")) is not None:
            check_revision(get_corruption(name), revision)
        severity = item.get("severity")
        # A stage from a manifest has a severity and all parameters. It keeps its severity if the parameters are those
        # of the severity's row.
        if severity is not None and parameters and parameters == table.row(name, severity).parameters:
            parameters = {}
        return _stage(table, name, severity, item.get("level"), parameters)
    if isinstance(item, (tuple, list)) and len(item) == 2 and isinstance(item[0], str):
        return () if is_unchanged(*item) else (resolve_number(item[0], table, item[1]),)
    raise ParameterError(
        f"{item!r} is not a stage; expected ('fog', 3), 'fog-3', {{'corruption': 'fog', 'severity': 3}} or a Stage."
    )


def check_ids(key: str | Sequence[str], count: int) -> list[str]:
    """Return the keys of a call as a list with one id per image, or raise `ParameterError`."""
    ids = as_list(key)
    if any(not isinstance(i, str) for i in ids):
        raise ParameterError(f"key is {key!r}; expected a string, or one for each image of a batch.")
    if len(ids) != count:
        raise ParameterError(
            f"Got {len(ids)} key{'s' * (len(ids) != 1)} for {count} image{'s' * (count != 1)}; expected one key "
            "per image."
        )
    return ids


def _labels(label: Any, labels: Any, count: int) -> Int64Array | None:
    """Return one label per image as int64, or None if no labels are given."""
    if label is None and labels is None:
        return None
    # NumPy would make an array of floats from an empty list.
    given = np.atleast_1d(np.asarray(label if labels is None else labels, None if count else np.int64))
    if None not in (label, labels) or given.dtype.kind not in "iu" or given.shape != (count,):
        raise ParameterError(
            f"label is {label!r} and labels is {labels!r}; expected one of them. For a single image, pass label, a "
            f"whole number. For several images, pass labels, {count} whole numbers, one per image."
        )
    return given.astype(np.int64)


def _model(chain: ResolvedChain, surrogate: Any, labels: Int64Array | None) -> dict[str, Any]:
    """Return the resources for stages that use a model's gradient."""
    given = {name: value for name, value in (("surrogate", surrogate), ("labels", labels)) if value is not None}
    if given and not chain.needs_model:
        needing = [name for name in corruption_names() if get_corruption(name).needs_model]
        raise ParameterError(
            f"{' and '.join(given)} can only be passed with a corruption that uses the gradients of a model: "
            f"{', '.join(needing)}."
        )
    if surrogate is not None:
        from .models.surrogate import given_model

        given["surrogate"] = given_model(surrogate)
    return given
