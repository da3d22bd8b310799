"""A network on a device, and what it must do before it is used.

uint8 pixels go in; outputs, and gradients by pixels, come out.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import ModelError
from .loading import fault, import_torch, model_called
from .model_file import ModelFile

CLOSE_TO_ONE = 1e-3
"""How far sums of probabilities may be from 1."""


class Network:
    """A `torch.nn.Module` with the input and the outputs that a model file says it has.

    Its calls belong into `loading.repeatable`.
    """

    def __init__(self, module: Any, file: ModelFile, device: str) -> None:
        torch = import_torch()
        self.device = device
        self._name = file.name
        self.module = module.to(device)
        self._torch = torch
        self._reversed = file.input.channels == "bgr"
        self._probabilities = file.outputs == "probabilities"
        self._mean = torch.tensor(file.input.mean, dtype=torch.float32, device=device).reshape(1, -1, 1, 1)
        self._std = torch.tensor(file.input.std, dtype=torch.float32, device=device).reshape(1, -1, 1, 1)
        self._by_pixel = torch.reciprocal(255 * self._std)

    def raw_outputs(self, images: NDArray[Any]) -> Any:
        """Return what the module returns for images (N, H, W, C) in 0..255."""
        with model_called(self._name), self._torch.no_grad():
            return self.module(self._input(images))

    def logits(self, images: NDArray[Any]) -> NDArray[np.float32]:
        """Return (N, K): logits, or logarithms of probabilities."""
        with model_called(self._name), self._torch.no_grad():
            logits: NDArray[np.float32] = self._as_logits(self.module(self._input(images))).cpu().numpy()
        return logits

    def gradient(
        self, images: NDArray[Any], outputs: NDArray[np.int64]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the cross-entropy (N,) of outputs, and its gradient by the pixels.

        The gradient is (N, H, W, C): one pass forward and one back.
        """
        torch = self._torch
        with model_called(self._name), torch.enable_grad():
            pixels = self._input(images).requires_grad_()
            target = torch.from_numpy(outputs).to(self.device)
            losses = torch.nn.functional.cross_entropy(self._as_logits(self.module(pixels)), target, reduction="none")
            (gradient,) = torch.autograd.grad(losses, pixels, torch.ones_like(losses))
        gradient *= self._by_pixel
        if self._reversed:
            gradient = gradient.flip(1)
        return losses.detach().cpu().numpy(), np.ascontiguousarray(gradient.cpu().numpy().transpose(0, 2, 3, 1))

    def memory(self, images: NDArray[Any]) -> int:
        """Return the bytes that the weights and one pass forward take.

        Weights count as they are read and as they are used; the pass, what it keeps for the pass back.
        """
        weights: int = sum(tensor.nbytes for tensor in self.module.state_dict().values())
        kept: int = 0

        def count(tensor: Any) -> Any:
            nonlocal kept
            kept += tensor.nbytes
            return tensor

        with (
            model_called(self._name),
            self._torch.enable_grad(),
            self._torch.autograd.graph.saved_tensors_hooks(count, lambda tensor: tensor),
        ):
            self.module(self._input(images).requires_grad_())
        return 2 * weights + kept

    def _input(self, images: NDArray[Any]) -> Any:
        """Return the float tensor (N, C, H, W) that the module takes."""
        tensor = self._torch.from_numpy(np.array(images.transpose(0, 3, 1, 2), np.float32, order="C")).to(self.device)
        if self._reversed:
            tensor = tensor.flip(1)
        return tensor.div_(255.0).sub_(self._mean).div_(self._std)

    def _as_logits(self, outputs: Any) -> Any:
        outputs = outputs.float()
        # the least normal number in place of 0, whose logarithm has no gradient
        return outputs.clamp_min(self._torch.finfo(outputs.dtype).tiny).log() if self._probabilities else outputs


def check_network(network: Network, file: ModelFile, batch: int) -> int:
    """Return how many outputs a network has, or raise `ModelError`.

    Two passes forward and one back, on noise. PyTorch's random numbers begin elsewhere in each pass, so that a network
    which draws some is found out.
    """
    torch = import_torch()
    height, width = file.input.size
    images = np.random.default_rng(0).integers(0, 256, (batch, height, width, file.channels), dtype=np.uint8)
    shape = f"({batch}, {file.channels}, {height}, {width})"
    who = f"The model {file.name}"
    program = (
        ", and the batch: a program is exported with a dynamic batch, or takes the one it was exported with"
        if file.program
        else ""
    )
    try:
        torch.manual_seed(1)
        raw = network.raw_outputs(images)
    except Exception as e:
        raise ModelError(
            f"{who} cannot take a batch of shape {shape}: {fault(e.__cause__ or e)}. Check input (size and "
            f"channels){program}."
        ) from e
    _check_outputs(raw, file, who, shape, batch)
    logits = network.logits(images)
    torch.manual_seed(2)
    if not np.array_equal(logits, network.logits(images)):
        raise ModelError(
            f"{who} gives other outputs when it sees the same images again: it draws something at random, or keeps a "
            "state. A factory's model must do neither in eval() mode."
        )
    try:
        # of the least likely class, for the gradient of a class that is certain is 0
        _, gradient = network.gradient(images, logits.argmin(axis=1))
    except Exception as e:
        raise ModelError(f"{who} has no gradient by its pixels: {fault(e.__cause__ or e)}.") from e
    check_gradient(gradient, who)
    if not gradient.reshape(batch, -1).any(axis=1).all():
        raise ModelError(
            f"The gradient of {file.name} by its pixels is 0 everywhere: something in it has no gradient (rounding, "
            "argmax, detach), or its outputs are probabilities of 0 and 1: return logits."
        )
    return int(raw.shape[1])


def _check_outputs(raw: Any, file: ModelFile, who: str, shape: str, batch: int) -> None:
    torch = import_torch()
    dense = isinstance(raw, torch.Tensor) and raw.layout == torch.strided and not raw.is_meta
    if not dense or raw.ndim != 2 or len(raw) != batch or raw.shape[1] < 2 or not raw.is_floating_point():
        got = f"{raw.dtype} {tuple(raw.shape)}" if isinstance(raw, torch.Tensor) else type(raw).__name__
        raise ModelError(
            f"{who} returns {got.removeprefix('torch.')} for a batch of shape {shape}; expected one tensor of floats "
            f"({batch}, classes), dense, with two classes or more. Give a factory whose model returns that tensor "
            "alone."
        )
    values = raw.double().cpu().numpy()
    if not np.isfinite(values).all():
        raise ModelError(
            f"{who} gives values that are not finite on noise. Check the weights, and mean and std of its input."
        )
    meant = (
        "probabilities" if (values >= 0).all() and (np.abs(values.sum(axis=1) - 1) <= CLOSE_TO_ONE).all() else "logits"
    )
    if file.outputs != meant:
        raise ModelError(
            f"{who} has outputs = {file.outputs!r}, and gives {meant}: values from {values.min():.3g} to "
            f"{values.max():.3g} with sums from {values.sum(axis=1).min():.3g}. Write outputs = {meant!r}."
        )


def check_gradient(gradient: NDArray[np.float32], who: str) -> None:
    """Raise `ModelError` where a gradient (N, H, W, C) has values that are not finite."""
    finite = np.isfinite(gradient)
    if not finite.all():
        bad = ~finite.reshape(len(gradient), -1).all(axis=1)
        raise ModelError(
            f"{who} has a gradient with values that are not finite (NaN or infinity), for {int(bad.sum())} of "
            f"{len(gradient)} images. Its own code divides by 0, or takes a root or logarithm of 0."
        )
