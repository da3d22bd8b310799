"""The paper that defines these corruptions."""

from __future__ import annotations

MINTUN_2021 = (
    "Mintun, Kirillov & Xie 2021, On Interaction Between Augmentations and Corruptions in Natural Corruption Robustness, NeurIPS "
    "(ImageNet-C-bar, CIFAR-10-C-bar)"
)
