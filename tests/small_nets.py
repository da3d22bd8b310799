"""Small networks for model files in tests. This module is copied to the folder of a model file."""

from __future__ import annotations

import torch


class Plain(torch.nn.Module):
    """A network with two convolutions (16, 32), pooling, and a layer of 64."""

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
    """A network with one smooth convolution, whose gradient is never 0, for images of any size."""

    def __init__(self, channels: int = 3, classes: int = 10) -> None:
        super().__init__()
        self.convolution = torch.nn.Conv2d(channels, 8, 3, padding=1)
        self.last = torch.nn.Linear(8, classes)

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        return self.last(torch.tanh(self.convolution(pixels)).mean(dim=(2, 3)))
