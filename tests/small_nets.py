"""Factories of small networks, for model files of tests; such a file has a copy of this module beside it."""

from __future__ import annotations

import torch


class Plain(torch.nn.Module):
    """Two convolutions (16, 32) with pooling, and a layer of 64."""

    def __init__(self, channels: int = 1, classes: int = 10, side: int = 8) -> None:
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Conv2d(channels, 16, 3, padding=1),
            torch.nn.ReLU(),
            torch.nn.MaxPool2d(2),
            torch.nn.Conv2d(16, 32, 3, padding=1),
            torch.nn.ReLU(),
            torch.nn.MaxPool2d(2),
            torch.nn.Flatten(),
            torch.nn.Linear(32 * (side // 4) ** 2, 64),
            torch.nn.ReLU(),
            torch.nn.Linear(64, classes),
        )

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        return self.layers(pixels)


class Smooth(torch.nn.Module):
    """One smooth convolution, whose gradient is 0 nowhere, for images of any size."""

    def __init__(self, channels: int = 3, classes: int = 10) -> None:
        super().__init__()
        self.convolution = torch.nn.Conv2d(channels, 8, 3, padding=1)
        self.last = torch.nn.Linear(8, classes)

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        return self.last(torch.tanh(self.convolution(pixels)).mean(dim=(2, 3)))
