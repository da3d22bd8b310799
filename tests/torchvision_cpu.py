"""Import torchvision together with a CPU build of PyTorch."""

from __future__ import annotations

from typing import Any


def let_torchvision_be_imported() -> Any:
    """Allow torchvision to be imported with a CPU build of PyTorch. The result must be kept.

    The torchvision of PyPI is compiled for CUDA builds of PyTorch. With a CPU build (``+cpu``), its library of
    operators cannot be loaded, and its import fails because two of them (nms and qnms, for detection) are missing.
    Defining their names is enough, because reading images and creating networks is Python code. With PyTorch of PyPI,
    nothing is done.
    """
    import torch

    if not torch.__version__.endswith("+cpu"):
        return None
    library = torch.library.Library("torchvision", "FRAGMENT")
    for name in ("nms", "qnms"):
        if not hasattr(torch.ops.torchvision, name):
            library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    return library
