"""What a model must do before it is used: take its images, repeat itself, have a gradient."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import ModelError
from .loading import fault
from .model_file import ModelFile
from .network import Network
from .pytorch import import_torch

CLOSE_TO_ONE = 1e-3
"""How far sums of probabilities may be from 1."""


def check_network(network: Network, file: ModelFile, batch: int) -> int:
    """Return how many outputs a network has, or raise `ModelError`: two passes forward and one back, on noise.

    PyTorch's random numbers begin elsewhere in each pass, so that a network which draws some is found out.
    """
    torch = import_torch()
    height, width = file.input.size
    images = np.random.default_rng(0).integers(0, 256, (batch, height, width, file.channels), dtype=np.uint8)
    shape = f"({batch}, {file.channels}, {height}, {width})"
    who = f"The model {file.name}"
    program = ", and the batch: a program is exported with a dynamic batch, or takes the one it was exported with" if file.program else ""
    try:
        torch.manual_seed(1)
        raw = network.raw_outputs(images)
    except Exception as e:
        raise ModelError(
            f"{who} cannot take a batch of shape {shape}: {fault(e.__cause__ or e)}. Check input (size and channels){program}."
        ) from e
    _check_outputs(raw, file, who, shape, batch)
    logits = network.logits(images)
    torch.manual_seed(2)
    if not np.array_equal(logits, network.logits(images)):
        raise ModelError(
            f"{who} gives other outputs when it sees the same images again: it draws something at random, or keeps a state. "
            "A factory's model must do neither in eval() mode."
        )
    try:
        # of the least likely class, for the gradient of a class that is certain is 0
        _, gradient = network.gradient(images, logits.argmin(axis=1))
    except Exception as e:
        raise ModelError(f"{who} has no gradient by its pixels: {fault(e.__cause__ or e)}.") from e
    check_gradient(gradient, who)
    if not gradient.reshape(batch, -1).any(axis=1).all():
        raise ModelError(
            f"The gradient of {file.name} by its pixels is 0 everywhere: something in it has no gradient (rounding, argmax, detach), "
            "or its outputs are probabilities of 0 and 1: return logits."
        )
    return int(raw.shape[1])


def _check_outputs(raw: Any, file: ModelFile, who: str, shape: str, batch: int) -> None:
    torch = import_torch()
    if not isinstance(raw, torch.Tensor) or raw.ndim != 2 or len(raw) != batch or raw.shape[1] < 2 or not raw.is_floating_point():
        got = f"{raw.dtype} {tuple(raw.shape)}" if isinstance(raw, torch.Tensor) else type(raw).__name__
        raise ModelError(
            f"{who} returns {got.removeprefix('torch.')} for a batch of shape {shape}; expected one tensor of floats ({batch}, classes), "
            "with two classes or more. Give a factory whose model returns that tensor alone."
        )
    if raw.layout != torch.strided or raw.is_meta:
        kind = "without values (of the device meta)" if raw.is_meta else f"of the layout {str(raw.layout).removeprefix('torch.')}"
        raise ModelError(f"{who} returns a tensor {kind} for a batch; expected a dense one, as .to_dense() gives it.")
    values = raw.double().cpu().numpy()
    if not np.isfinite(values).all():
        raise ModelError(f"{who} gives values that are not finite on noise. Check the weights, and mean and std of its input.")
    meant = "probabilities" if (values >= 0).all() and (np.abs(values.sum(axis=1) - 1) <= CLOSE_TO_ONE).all() else "logits"
    if file.outputs != meant:
        raise ModelError(
            f"{who} has outputs = {file.outputs!r}, and gives {meant}: values from {values.min():.3g} to {values.max():.3g} with sums from "
            f"{values.sum(axis=1).min():.3g}. Write outputs = {meant!r}."
        )


def check_gradient(gradient: NDArray[np.float32], who: str) -> None:
    """Raise `ModelError` where a gradient (N, H, W, C) has values that are not finite."""
    finite = np.isfinite(gradient)
    if not finite.all():
        bad = ~finite.reshape(len(gradient), -1).all(axis=1)
        raise ModelError(
            f"{who} has a gradient with values that are not finite (NaN or infinity), for {int(bad.sum())} of {len(gradient)} images. "
            "Its own code divides by 0, or takes a root or logarithm of 0."
        )
