"""A small U-Net that finds, for every pixel, whether it belongs to a shape."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional

from gallery_models.shapes import drawn
from gallery_models.training import trained

CLASSES = ("ground", "bar", "coloured disc")


class UNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.down1 = nn.Conv2d(3, 8, 3, padding=1)
        self.down2 = nn.Conv2d(8, 16, 3, stride=2, padding=1)
        self.deep = nn.Conv2d(16, 16, 3, padding=1)
        self.up = nn.ConvTranspose2d(16, 8, 2, stride=2)
        self.out = nn.Conv2d(16, len(CLASSES), 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        first = functional.relu(self.down1(x))
        deep = functional.relu(self.deep(functional.relu(self.down2(first))))
        return self.out(torch.cat([first, functional.relu(self.up(deep))], dim=1))


def masks(images: torch.Tensor) -> torch.Tensor:
    """[N, H, W]: bars are bright, discs are colourful, the ground is neither."""
    colourful = functional.avg_pool2d(images.amax(1, keepdim=True) - images.amin(1, keepdim=True), 3, 1, 1)[:, 0]
    return torch.where(colourful > 0.4, 2, torch.where(images.mean(1) > 0.8, 1, 0))


def trained_unet(steps: int = 120) -> UNet:
    images, _ = drawn(1024, seed=1)
    return trained(UNet, functional.cross_entropy, images, masks(images), steps)
