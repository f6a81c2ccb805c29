"""Bars of four directions and discs of four colours on a grey ground, and a network that tells them apart."""

from __future__ import annotations

import math

import torch
from torch import nn
from torch.nn import functional

from gallery_models.training import trained

SIZE = 24
NAMES = ("bar 0", "bar 45", "bar 90", "bar 135", "red", "green", "blue", "yellow")  # degrees from upright
COLOURS = torch.tensor([[0.95, 0.15, 0.15], [0.1, 0.8, 0.15], [0.15, 0.2, 0.95], [0.9, 0.85, 0.1]])
BARS = 4


def drawn(count: int, seed: int, size: int = SIZE) -> tuple[torch.Tensor, torch.Tensor]:
    """Images [count, 3, size, size] of 0 to 1, and which of the names each one shows."""
    draw = torch.Generator().manual_seed(seed)
    labels = torch.randint(len(NAMES), (count,), generator=draw)
    middle = (torch.rand(count, 2, 1, 1, generator=draw) - 0.5) * size * 0.5
    steps = torch.arange(size) - (size - 1) / 2
    below, right = (side - middle[:, axis] for axis, side in enumerate((steps[:, None], steps[None, :])))
    bar = (across(labels, below, right).abs() < size / 14).float()
    disc = ((below.square() + right.square()).sqrt() < size / 5).float()
    covered = torch.where((labels < BARS)[:, None, None], bar, disc)[:, None]
    paint = torch.where((labels < BARS)[:, None], torch.ones(3), COLOURS[(labels - BARS).clamp(min=0)])
    ground = 0.35 + 0.2 * torch.rand(count, 1, 1, 1, generator=draw)
    images = ground * (1 - covered) + paint[:, :, None, None] * covered
    noise = 0.06 * torch.randn(count, 3, size, size, generator=draw)
    return (images + noise).clamp(0, 1), labels


def across(labels: torch.Tensor, below: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """The distance from a bar's own line."""
    angle = (labels * math.pi / BARS)[:, None, None]
    return right * angle.cos() + below * angle.sin()


class ShapeNet(nn.Module):
    """Three convolutions with batch norm, the strongest answer of each channel, eight classes."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 12, 5, padding=2)
        self.conv2 = nn.Conv2d(12, 16, 3, padding=1)
        self.conv3 = nn.Conv2d(16, 24, 3, padding=1)
        self.bn1, self.bn2, self.bn3 = nn.BatchNorm2d(12), nn.BatchNorm2d(16), nn.BatchNorm2d(24)
        self.relu = nn.ReLU()
        self.fc = nn.Linear(24, len(NAMES))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = functional.max_pool2d(self.relu(self.bn1(self.conv1(x))), 2)
        x = functional.max_pool2d(self.relu(self.bn2(self.conv2(x))), 2)
        x = self.relu(self.bn3(self.conv3(x)))
        return self.fc(x.mean((2, 3)))


def trained_shape_net(steps: int = 150) -> ShapeNet:
    images, labels = drawn(64 * 24, seed=1)
    return trained(ShapeNet, functional.cross_entropy, images, labels, steps)
