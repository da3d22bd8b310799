"""A model file made into a network.

By its factory and weights, or from an exported program. PyTorch is imported when it is needed, and run so that nothing
depends on, or changes, what the process does beside.
"""

from __future__ import annotations

import hashlib
import importlib
import io
import os
import pickle
import pkgutil
import re
import sys
import textwrap
import warnings
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from ...digests import digest_of
from ...errors import CorruptsetError, ModelError, install_extra
from ...files import open_regular, reason
from ...foreign import Foreign, cause_of, said
from .model_file import ModelFile

_held: set[str] = set()
"""The devices of the blocks of `repeatable` that this process is in: a block inside another has nothing to do."""
NESTED = ("state_dict", "model_state_dict", "model")
"""Keys under which training scripts keep a state dict, beside their own."""
SHOWN = 4
"""Keys that an error shows."""
MOST_SAID = 400
"""Letters of PyTorch's list of weights that are missing, unexpected, or of another shape."""


def import_torch() -> Any:
    """Return the module `torch`, or raise `ModelError` that says why it cannot be imported."""
    try:
        return importlib.import_module("torch")
    except (ImportError, OSError) as e:
        raise ModelError(
            f"A model needs PyTorch, which cannot be imported: {type(e).__name__}: {e}. {install_extra('torch')}"
        ) from None


def check_device(name: str) -> str:
    """Return the name of a device that this PyTorch has, or raise `ModelError`."""
    torch = import_torch()
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    known = ["cpu", *["cuda"] * bool(count), *(f"cuda:{i}" for i in range(count))]
    if name not in known:
        raise ModelError(
            f"There is no device {name!r} for PyTorch {torch.__version__} here; it has {', '.join(known)}. A GPU needs "
            "a build of PyTorch for it: https://pytorch.org/get-started/locally"
        )
    if name != "cpu":
        # cuBLAS reads it once, when it starts; without it its sums depend on what ran before
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    return name


@contextmanager
def repeatable(device: str, threads: int = 1) -> Iterator[None]:
    """Run PyTorch in so many threads, by deterministic algorithms where it has them.

    Settings and random state are restored at the end. What a network computes depends on how many threads share its
    sums.
    """
    if device in _held:
        yield
        return
    torch = import_torch()
    on_gpu, flags = torch.device(device).type == "cuda", torch.utils.deterministic
    with ExitStack() as stack:
        stack.callback(torch.set_num_threads, torch.get_num_threads())
        stack.callback(
            torch.use_deterministic_algorithms,
            torch.are_deterministic_algorithms_enabled(),
            warn_only=torch.is_deterministic_algorithms_warn_only_enabled(),
        )
        stack.callback(setattr, flags, "fill_uninitialized_memory", flags.fill_uninitialized_memory)
        stack.enter_context(torch.random.fork_rng(devices=[torch.device(device)] if on_gpu else []))
        stack.enter_context(torch.inference_mode(False))
        stack.enter_context(torch.autocast(torch.device(device).type, enabled=False))
        if on_gpu:
            stack.enter_context(
                torch.backends.cudnn.flags(enabled=True, benchmark=False, deterministic=True, allow_tf32=False)
            )
        stack.enter_context(warnings.catch_warnings())
        # "where it has them": the layers that have none run as they are
        warnings.filterwarnings(
            "ignore", message=".*does not have a deterministic implementation", category=UserWarning
        )
        torch.set_num_threads(threads)
        torch.use_deterministic_algorithms(True, warn_only=True)
        # layers that read what they did not write fail the checks
        flags.fill_uninitialized_memory = False
        stack.callback(_held.discard, device)
        _held.add(device)
        yield


def read_weights(path: Path) -> tuple[bytes, str]:
    """Return the bytes of a weights file and their ``sha256:<hex>``.

    What is hashed is what is loaded.
    """
    try:
        with open_regular(path) as file:
            data = file.read()
    except OSError as e:
        raise ModelError(f"The weights {path} cannot be read: {reason(e)}.") from None
    return data, digest_of(hashlib.sha256(data))


def load_network(file: ModelFile, folder: Path, data: bytes) -> Any:
    """Return a model file's `torch.nn.Module` on the CPU, ready to be asked.

    Parameters
    ----------
    file : ModelFile
    folder : Path
        Where it lies: modules of factories are found there too.
    data : bytes
        Of its weights or program.

    Raises
    ------
    ModelError
    """
    torch = import_torch()
    if file.program is not None:
        try:
            return torch.export.load(io.BytesIO(data)).module()
        except Exception as e:
            raise ModelError(
                f"The program {file.program} cannot be loaded by PyTorch {torch.__version__}: {first_line(e)}."
            ) from e
    state = _state_dict(torch, file.weights_name, data)
    network = _made(torch, file, folder)
    if all(name.startswith("module.") for name in state):  # torch.nn.DataParallel's names
        state = {name.removeprefix("module."): tensor for name, tensor in state.items()}
    try:
        network.load_state_dict(state)
    except RuntimeError as e:
        raise ModelError(
            f"The weights {file.weights} are of another architecture than {file.factory} makes. "
            f"{textwrap.shorten(str(e), MOST_SAID)}. Check factory and arguments."
        ) from None
    return network.eval().requires_grad_(False)


def _state_dict(torch: Any, name: str, data: bytes) -> dict[str, Any]:
    """Return tensors by name. Nothing in the file is run."""
    try:
        if name.endswith(".safetensors"):
            return dict(importlib.import_module("safetensors.torch").load(data))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            loaded = torch.load(io.BytesIO(data), map_location="cpu", weights_only=True)
    except ImportError as e:
        raise ModelError(f"{name} needs safetensors ({e}). {install_extra('torch')}") from None
    except pickle.UnpicklingError as e:
        # PyTorch's own message tells how to run the code
        named = re.search(r"GLOBAL ([\w.]+)", str(e))
        raise ModelError(
            f"The weights {name} hold more than tensors{f' ({named[1]})' if named else ''}, which could run code, and "
            "were not loaded. Save the state dict alone, torch.save(model.state_dict(), ...), or better as "
            "safetensors."
        ) from None
    except Exception as e:
        kind = "safetensors" if name.endswith(".safetensors") else "torch.save"
        raise ModelError(
            f"The weights {name} cannot be read as a file of {kind}: {fault(e)}. Save or download the state dict again."
        ) from None
    for key in NESTED:
        if isinstance(loaded, Mapping) and isinstance(loaded.get(key), Mapping):
            loaded = loaded[key]
    if not isinstance(loaded, Mapping) or not loaded or not all(isinstance(t, torch.Tensor) for t in loaded.values()):
        keys = ", ".join(map(repr, list(loaded)[:SHOWN])) if isinstance(loaded, Mapping) else ""
        raise ModelError(
            f"The weights {name} hold a {type(loaded).__name__}{' of ' * bool(keys)}{keys}; expected a state dict, "
            "names -> tensors, of torch.save(model.state_dict(), ...)."
        )
    return dict(loaded)


def _made(torch: Any, file: ModelFile, folder: Path) -> Any:
    """Call the factory; its own random weights leave PyTorch's random state as it was."""
    with ExitStack() as stack:
        sys.path.append(str(folder))  # after all others
        stack.callback(sys.path.remove, str(folder))
        try:
            with Foreign():
                factory = pkgutil.resolve_name(file.factory or "")
        except Exception as e:
            raise ModelError(
                f"factory is {file.factory!r}, and cannot be imported: {fault(e)}. It is searched among the installed "
                f"packages, and beside the model file in {folder}."
            ) from e
    called = f"{file.factory}({', '.join(f'{key}={value!r}' for key, value in file.arguments.items())})"
    try:
        with torch.random.fork_rng(devices=[]), torch.device("cpu"), warnings.catch_warnings(), Foreign():
            warnings.simplefilter("ignore")
            network = factory(**file.arguments)
    except Exception as e:
        raise ModelError(f"The factory {called} fails: {fault(e)}.") from e
    if not isinstance(network, torch.nn.Module):
        raise ModelError(f"The factory {called} returns a {type(network).__name__}; expected a torch.nn.Module.")
    return network


def first_line(error: BaseException) -> str:
    """Return the first line of what an error says, without its last full stop."""
    return next((line.strip().rstrip(".:") for line in said(error).splitlines() if line.strip()), type(error).__name__)


def fault(error: BaseException) -> str:
    """Return the kind of an error in foreign code, and its first line."""
    cause = cause_of(error)
    return f"{type(cause).__name__}: {first_line(cause)}"


@contextmanager
def model_called(name: str) -> Iterator[None]:
    """Run code of a model.

    Whatever it raises, and whatever would end the process, becomes a `ModelError`.
    """
    try:
        with Foreign():
            yield
    except (CorruptsetError, MemoryError):
        raise
    except Exception as e:
        raise ModelError(f"The model {name} fails: {fault(e)}.") from e
