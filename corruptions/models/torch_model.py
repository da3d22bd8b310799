"""The adapter for PyTorch, which loads a `torch.nn.Module` from a model file and calls it with NumPy arrays."""

from __future__ import annotations

import importlib
import io
import os
import pickle
import pkgutil
import sys
import textwrap
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import CorruptsetError, ModelError, install_extra
from ...foreign import ForeignCode, cause_of, error_text
from ..keys import Int64Array
from .model_file import ModelFile

NESTED = ("state_dict", "model_state_dict", "model")
"""The keys under which training scripts store a state dict."""
MAX_SHOWN = 400
"""The maximum length of a quoted error from a model's code, such as PyTorch's list of missing weights."""


def import_torch() -> Any:
    """Return the module `torch`, or raise `ModelError` with the reason why it cannot be imported."""
    try:
        return importlib.import_module("torch")
    except (ImportError, OSError) as e:
        raise ModelError(
            f"A model needs PyTorch, which cannot be imported: {type(e).__name__}: {e}. {install_extra('torch')}"
        ) from None


def set_up(device: str) -> None:
    """Make PyTorch use deterministic algorithms in this process, or raise `ModelError` if the device is missing."""
    # cuBLAS reads this variable when it starts. Without it, sums depend on earlier computations.
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch = import_torch()
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError):
        raise ModelError(
            f"PyTorch {torch.__version__} has no device {device!r} on this machine. Leave the device out to use the "
            "CPU. For a GPU, install a build of PyTorch that supports it: https://pytorch.org/get-started/locally"
        ) from None
    torch.use_deterministic_algorithms(True, warn_only=True)  # Some layers have no deterministic algorithm.
    warnings.filterwarnings("ignore", message=".*does not have a deterministic implementation", category=UserWarning)
    torch.utils.deterministic.fill_uninitialized_memory = False  # This is slow and not needed.
    torch.backends.cudnn.benchmark = torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.deterministic = True


class TorchModel:
    """A `protocol.Model` that calls a `torch.nn.Module`, with the input and outputs that a model file describes.

    Parameters
    ----------
    module : torch.nn.Module
        The network in evaluation mode.
    file : ModelFile
        The model file.
    device : str
        The device of the network.
    batch : int
        The batch size.
    threads : int
        The number of CPU threads that PyTorch uses. It is set for the process at each call, because sums depend on it.
    """

    def __init__(self, module: Any, file: ModelFile, *, device: str, batch: int, threads: int) -> None:
        torch = self._torch = import_torch()
        self._module, self._device, self._batch, self._threads = module, torch.device(device), batch, threads
        self._name = file.name
        self._bgr = file.input.channels == "bgr"
        self._probabilities = file.outputs == "probabilities"
        self._mean = torch.tensor(file.input.mean, dtype=torch.float32, device=device).reshape(1, -1, 1, 1)
        self._std = torch.tensor(file.input.std, dtype=torch.float32, device=device).reshape(1, -1, 1, 1)
        self._by_pixel = torch.reciprocal(255 * self._std)

    def logits(self, images: NDArray[Any]) -> NDArray[np.float32]:
        """Return the logits (N, K) of images, or the logarithms of the probabilities that the model returns."""
        with self._running(), self._torch.no_grad():
            parts = [self._outputs(self._input(images[part])).cpu().numpy() for part in self._parts(images)]
        return np.concatenate(parts) if parts else np.empty((0, 0), np.float32)

    def gradient(self, images: NDArray[Any], labels: Int64Array) -> NDArray[np.float32]:
        """Return the gradient (N, H, W, C) of each image's cross-entropy loss with respect to its pixels."""
        torch = self._torch
        gradients = np.empty(images.shape, np.float32)
        with self._running(), torch.enable_grad():
            for part in self._parts(images):
                pixels = self._input(images[part]).requires_grad_()
                target = torch.from_numpy(labels[part]).to(self._device)
                losses = torch.nn.functional.cross_entropy(self._outputs(pixels), target, reduction="none")
                (gradient,) = torch.autograd.grad(losses, pixels, torch.ones_like(losses))
                gradient *= self._by_pixel
                if self._bgr:
                    gradient = gradient.flip(1)
                gradients[part] = gradient.cpu().numpy().transpose(0, 2, 3, 1)
        return gradients

    def memory(self, images: NDArray[Any]) -> int:
        """Return the memory in bytes for two copies of the weights, and for one forward and backward pass."""
        sizes: list[int] = [2 * tensor.nbytes for tensor in self._module.state_dict().values()]

        def count(tensor: Any) -> Any:
            sizes.append(tensor.nbytes)
            return tensor

        saved = self._torch.autograd.graph.saved_tensors_hooks(count, lambda tensor: tensor)
        with self._running(), self._torch.enable_grad(), saved:
            self._outputs(self._input(images).requires_grad_())
        return sum(sizes)

    def _parts(self, images: NDArray[Any]) -> list[slice]:
        return [slice(start, start + self._batch) for start in range(0, len(images), self._batch)]

    def _input(self, images: NDArray[Any]) -> Any:
        """Return the input of the module, which is a float tensor (N, C, H, W)."""
        tensor = self._torch.from_numpy(np.array(images.transpose(0, 3, 1, 2), np.float32, order="C")).to(self._device)
        if self._bgr:
            tensor = tensor.flip(1)
        return tensor.div_(255.0).sub_(self._mean).div_(self._std)

    def _outputs(self, pixels: Any) -> Any:
        """Return the tensor of logits that the module returns for an input."""
        outputs = self._module(pixels)
        if not isinstance(outputs, self._torch.Tensor):
            raise ModelError(
                f"The model {self._name} returns a {type(outputs).__name__}; expected one tensor of logits (N, "
                "classes). Use a factory whose model returns only this tensor."
            )
        outputs = outputs.float()
        # The logarithm of 0 has no gradient, so 0 is replaced by the smallest normal number.
        return outputs.clamp_min(self._torch.finfo(outputs.dtype).tiny).log() if self._probabilities else outputs

    @contextmanager
    def _running(self) -> Iterator[None]:
        """Run the block with the model's number of threads, and without the caller's inference mode and autocast."""
        torch = self._torch
        if torch.get_num_threads() != self._threads:
            torch.set_num_threads(self._threads)
        failure = f"The model {self._name} fails (check the size and channels of its input)"
        with torch.inference_mode(False), torch.autocast(self._device.type, enabled=False), _report_errors(failure):
            yield


@contextmanager
def _report_errors(failure: str) -> Iterator[None]:
    """Run the block as foreign code, and raise `ModelError` for its errors and its attempts to end the process."""
    try:
        with ForeignCode():
            yield
    except (CorruptsetError, MemoryError):
        raise
    except Exception as e:
        cause = cause_of(e)
        message = textwrap.shorten(error_text(cause), MAX_SHOWN).rstrip(".")
        raise ModelError(f"{failure}: {type(cause).__name__}: {message}.") from e


def load_module(file: ModelFile, folder: Path, data: bytes, device: str) -> Any:
    """Return the `torch.nn.Module` of a model file on a device, in evaluation mode.

    Parameters
    ----------
    file : ModelFile
        The model file.
    folder : Path
        The folder of the model file, in which the factory is also looked up.
    data : bytes
        The contents of the file with the weights or the program.
    device : str
        The device of the module.

    Raises
    ------
    ModelError
        If the module cannot be created, or if the weights do not fit it.
    """
    torch = import_torch()
    with torch.inference_mode(False):
        if file.program is not None:
            with _report_errors(f"The program {file.program} cannot be loaded by PyTorch {torch.__version__}"):
                return torch.export.load(io.BytesIO(data)).module().to(device)
        state, module = _state_dict(torch, file.weights_name, data), _new_module(torch, file, folder)
        with _report_errors(f"The weights {file.weights} do not fit the architecture that {file.factory} returns"):
            module.load_state_dict(state)
        return module.eval().requires_grad_(False).to(device)


def _state_dict(torch: Any, name: str, data: bytes) -> dict[str, Any]:
    """Return the tensors of a weights file by name. Code in the file is never executed."""
    with _report_errors(f"The weights {name} cannot be read"):
        try:
            if name.endswith(".safetensors"):
                loaded = importlib.import_module("safetensors.torch").load(data)
            else:
                loaded = torch.load(io.BytesIO(data), map_location="cpu", weights_only=True)
        except pickle.UnpicklingError:  # PyTorch's message tells users how to execute the code, so it is replaced.
            raise ModelError(
                f"The weights {name} contain objects other than tensors, which could execute code, so they were not "
                "loaded. Save only the state dict with torch.save(model.state_dict(), ...) or, preferably, in the "
                "safetensors format."
            ) from None
    for key in NESTED:
        if isinstance(loaded, Mapping) and isinstance(loaded.get(key), Mapping):
            loaded = loaded[key]
    if not isinstance(loaded, Mapping) or not loaded or not all(isinstance(t, torch.Tensor) for t in loaded.values()):
        raise ModelError(
            f"The weights {name} contain a {type(loaded).__name__} that is not a state dict of tensors by name. Save "
            "the state dict with torch.save(model.state_dict(), ...)."
        )
    is_parallel = all(key.startswith("module.") for key in loaded)  # torch.nn.DataParallel adds this prefix.
    return {key.removeprefix("module.") if is_parallel else key: tensor for key, tensor in loaded.items()}


def _new_module(torch: Any, file: ModelFile, folder: Path) -> Any:
    """Return a new module from the factory of a model file, before its weights are loaded."""
    call = f"{file.factory}({', '.join(f'{key}={value!r}' for key, value in file.arguments.items())})"
    sys.path.append(str(folder))
    try:
        with _report_errors(f"The factory {call}, searched in the installed packages and in {folder}, fails"):
            module = pkgutil.resolve_name(file.factory or "")(**file.arguments)
    finally:
        sys.path.remove(str(folder))
    if not isinstance(module, torch.nn.Module):
        raise ModelError(f"The factory {call} returns a {type(module).__name__}; expected a torch.nn.Module.")
    return module
