"""A small vision transformer for the same shapes: patches of 4, a class token, two blocks of torch's own."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional

from gallery_models.shapes import NAMES, SIZE, drawn
from gallery_models.training import trained

_PATCH, _WIDTH = 4, 32


class ShapeTransformer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.patch = nn.Conv2d(3, _WIDTH, _PATCH, stride=_PATCH)
        self.cls = nn.Parameter(torch.zeros(1, 1, _WIDTH))
        self.position = nn.Parameter(torch.randn(1, (SIZE // _PATCH) ** 2 + 1, _WIDTH) * 0.1)
        layer = nn.TransformerEncoderLayer(_WIDTH, 4, 64, dropout=0.0, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(_WIDTH)
        self.head = nn.Linear(_WIDTH, len(NAMES))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        patches = self.patch(x - 0.5).flatten(2).transpose(1, 2)
        tokens = torch.cat([self.cls.expand(len(x), -1, -1), patches], dim=1) + self.position
        return self.head(self.norm(self.encoder(tokens))[:, 0])


def trained_transformer(steps: int = 300) -> ShapeTransformer:
    images, labels = drawn(64 * 32, seed=1)
    return trained(ShapeTransformer, functional.cross_entropy, images, labels, steps, rate=2e-3)
