"""PyTorch: imported when it is needed, and run so that nothing depends on, or changes, what the process does beside."""

from __future__ import annotations

import importlib
import os
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from ...errors import ModelError

INSTALL = "pip install 'corruptset[torch]'"
_held: set[str] = set()
"""The devices of the blocks of `repeatable` that this process is in: a block inside another has nothing to do."""


def import_torch() -> Any:
    """Return the module `torch`, or raise `ModelError` that says how to install it, or why the one that is there cannot be imported."""
    try:
        return importlib.import_module("torch")
    except (ImportError, OSError) as e:
        if isinstance(e, ModuleNotFoundError) and e.name == "torch":
            raise ModelError(f"A model needs PyTorch, which is not installed. Install it with: {INSTALL}") from None
        raise ModelError(
            f"A model needs PyTorch. It is installed, and cannot be imported: {type(e).__name__}: {e}. Mend its installation: "
            '`python -c "import torch"` shows the same error.'
        ) from None


def check_device(name: str) -> str:
    """Return the name of a device that this PyTorch has, or raise `ModelError`."""
    torch = import_torch()
    try:
        kind = torch.device(name).type
    except RuntimeError:
        raise ModelError(f"There is no device {name!r}; expected cpu, cuda, or cuda:1 and so on.") from None
    if kind not in ("cpu", "cuda"):
        raise ModelError(f"The device is {name!r}; expected cpu or cuda.")
    if kind == "cuda":
        if not torch.cuda.is_available():
            why = "is built without CUDA" if torch.version.cuda is None else "finds no CUDA device"
            raise ModelError(
                f"The device is {name!r}, and PyTorch {torch.__version__} {why}. "
                "Use --device cpu (device='cpu'), or install a build of PyTorch for your GPU: https://pytorch.org/get-started/locally"
            )
        if (torch.device(name).index or 0) >= torch.cuda.device_count():
            raise ModelError(f"The device is {name!r}, and there are {torch.cuda.device_count()}, counted from cuda:0.")
        # cuBLAS reads it once, when it starts; without it its sums depend on what ran before
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    return name


@contextmanager
def repeatable(device: str, threads: int = 1) -> Iterator[None]:
    """Run PyTorch in so many threads, by deterministic algorithms where it has them; settings and random state are restored at the end.

    What a network computes depends on how many threads share its sums.
    """
    if device in _held:
        yield
        return
    torch = import_torch()
    threads_before = torch.get_num_threads()
    deterministic, warn_only = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    on_gpu = torch.device(device).type == "cuda"
    with ExitStack() as stack:
        stack.callback(torch.set_num_threads, threads_before)
        stack.callback(torch.use_deterministic_algorithms, deterministic, warn_only=warn_only)
        stack.callback(setattr, torch.utils.deterministic, "fill_uninitialized_memory", torch.utils.deterministic.fill_uninitialized_memory)
        stack.enter_context(torch.random.fork_rng(devices=[torch.device(device)] if on_gpu else []))
        stack.enter_context(torch.inference_mode(False))
        stack.enter_context(torch.autocast(torch.device(device).type, enabled=False))
        if on_gpu:
            stack.enter_context(torch.backends.cudnn.flags(enabled=True, benchmark=False, deterministic=True, allow_tf32=False))
        stack.enter_context(warnings.catch_warnings())
        # "where it has them": the layers that have none run as they are
        warnings.filterwarnings("ignore", message=".*does not have a deterministic implementation", category=UserWarning)
        torch.set_num_threads(threads)
        torch.use_deterministic_algorithms(True, warn_only=True)
        torch.utils.deterministic.fill_uninitialized_memory = False  # layers that read what they did not write fail the checks
        stack.callback(_held.discard, device)
        _held.add(device)
        yield
