"""torchvision beside a CPU build of torch."""

from __future__ import annotations

from typing import Any


def let_torchvision_be_imported() -> Any:
    """Let torchvision be imported beside a CPU build of torch; what is returned must be kept.

    PyPI's torchvision is compiled for CUDA builds, and goes with PyPI's torch. Beside a CPU build (``+cpu``) its
    library of operators does not load, and its import then fails on the names of two of them (nms and qnms, for
    detection). Naming them is enough; what reads images and makes networks is Python. Beside PyPI's torch nothing is
    done.
    """
    import torch

    if not torch.__version__.endswith("+cpu"):
        return None
    library = torch.library.Library("torchvision", "FRAGMENT")
    for name in ("nms", "qnms"):
        if not hasattr(torch.ops.torchvision, name):
            library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    return library
