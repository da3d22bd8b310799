"""Networks of benchmarks, as factories of model files."""

from __future__ import annotations

import torch


class Convolutions(torch.nn.Module):
    """Stages of two convolutions and a pooling, each twice as wide as the one before, and two layers on top."""

    def __init__(self, channels: int, side: int, width: int, stages: int, classes: int = 10) -> None:
        super().__init__()
        layers: list[torch.nn.Module] = []
        before = channels
        for stage in range(stages):
            for _ in range(2):
                layers += [torch.nn.Conv2d(before, width << stage, 3, padding=1), torch.nn.ReLU()]
                before = width << stage
            layers.append(torch.nn.MaxPool2d(2))
        top = before * (side >> stages) ** 2
        self.layers = torch.nn.Sequential(
            *layers, torch.nn.Flatten(), torch.nn.Linear(top, 64), torch.nn.ReLU(), torch.nn.Linear(64, classes)
        )

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        out: torch.Tensor = self.layers(pixels)
        return out
