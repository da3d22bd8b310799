"""A network on a device: uint8 pixels in, outputs and gradients by pixels out."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .loading import model_called
from .model_file import ModelFile
from .pytorch import import_torch


class Network:
    """A `torch.nn.Module` with the input and the outputs that a model file says it has. Its calls belong into `pytorch.repeatable`."""

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

    def gradient(self, images: NDArray[Any], outputs: NDArray[np.int64]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the cross-entropy (N,) of these outputs, and its gradient by the pixels (N, H, W, C): one pass forward and one back."""
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
        """Return the bytes of the weights, as they are read and as they are used, and of what a pass forward keeps for the pass back."""
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
