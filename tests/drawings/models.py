"""Models whose drawing is known by hand, and some that are hard to draw."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn


class Residual(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc1, self.act, self.fc2 = nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 4)

    def forward(self, x):
        return x + self.fc2(self.act(self.fc1(x)))


class Double(nn.Sequential):
    def __init__(self, before: int, after: int) -> None:
        super().__init__(nn.Conv2d(before, after, 3, padding=1), nn.ReLU())


class UNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.down1, self.down2, self.middle = Double(1, 4), Double(4, 8), Double(8, 16)
        self.up2, self.dec2 = nn.ConvTranspose2d(16, 8, 2, 2), Double(16, 8)
        self.up1, self.dec1 = nn.ConvTranspose2d(8, 4, 2, 2), Double(8, 4)
        self.out = nn.Conv2d(4, 1, 1)

    def forward(self, x):
        a = self.down1(x)
        b = self.down2(F.max_pool2d(a, 2))
        deep = self.middle(F.max_pool2d(b, 2))
        y = self.dec2(torch.cat([self.up2(deep), b], 1))
        return self.out(self.dec1(torch.cat([self.up1(y), a], 1)))


class Siamese(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(4, 4), nn.ReLU())

    def forward(self, left, right):
        return (self.trunk(left) - self.trunk(right)).abs()


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.qkv, self.proj = nn.Linear(8, 24), nn.Linear(8, 8)

    def forward(self, x):
        q, k, v = (part.unflatten(2, (2, 4)).transpose(1, 2) for part in self.qkv(x).chunk(3, 2))
        return self.proj(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.ln_1, self.attn, self.ln_2 = nn.LayerNorm(8), Attention(), nn.LayerNorm(8)
        self.mlp = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 8))

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    def __init__(self, layers: int = 2) -> None:
        super().__init__()
        self.wte, self.wpe = nn.Embedding(20, 8), nn.Embedding(16, 8)
        self.h = nn.ModuleList(Block() for _ in range(layers))
        self.ln_f, self.head = nn.LayerNorm(8), nn.Linear(8, 20, bias=False)

    def forward(self, idx):
        x = self.wte(idx) + self.wpe(torch.arange(idx.shape[1]))
        for block in self.h:
            x = block(x)
        return self.head(self.ln_f(x))


class Experts(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gate = nn.Linear(4, 5)
        self.experts = nn.ModuleList(nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 4)) for _ in range(5))

    def forward(self, x):
        weights = self.gate(x).softmax(-1)
        return sum(weights[:, at, None] * expert(x) for at, expert in enumerate(self.experts))


class Dense(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(2 + 2 * at, 2) for at in range(6))

    def forward(self, x):
        made = [x]
        for layer in self.layers:
            made.append(layer(torch.cat(made, 1)).relu())
        return torch.cat(made, 1)


class Recurrent(nn.Module):
    """One cell, called as often as the sequence is long."""

    def __init__(self) -> None:
        super().__init__()
        self.cell, self.out = nn.LSTMCell(4, 8), nn.Linear(8, 2)

    def forward(self, x):
        h = c = torch.zeros(len(x), 8)
        made = []
        for t in range(x.shape[1]):
            h, c = self.cell(x[:, t], (h, c))
            made.append(self.out(h))
        return torch.stack(made, 1)


class Everything(nn.Module):
    """Three inputs, a dictionary of outputs, a layer that is never used."""

    def __init__(self) -> None:
        super().__init__()
        self.image = nn.Sequential(nn.Conv2d(3, 4, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.text, self.table = nn.Embedding(50, 4), nn.Linear(5, 4)
        self.logits, self.boxes, self.forgotten = nn.Linear(12, 3), nn.Linear(12, 4), nn.Linear(2, 2)

    def forward(self, image, tokens, table=None):
        features = torch.cat([self.image(image), self.text(tokens).mean(1), self.table(table)], 1)
        return {"logits": self.logits(features), "boxes": self.boxes(features).sigmoid(), "features": features}


class Wild(nn.Module):
    """Hundreds of operations in one forward, with ties far back."""

    def __init__(self, count: int = 600) -> None:
        super().__init__()
        self.count = count
        self.scale = nn.Parameter(torch.ones(4))

    def forward(self, x):
        kinds = [torch.sin, torch.cos, torch.tanh, torch.sigmoid, torch.relu, torch.abs, torch.exp]
        y = x
        for at in range(self.count // 2):
            y = kinds[(at * at + at // 7) % 7](y) + (x if at % 11 == 0 else self.scale)
        return y


def drawable() -> dict[str, tuple[nn.Module, object]]:
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    return {
        "residual": (Residual(), torch.randn(2, 4)),
        "u-net": (UNet(), torch.randn(1, 1, 8, 8)),
        "siamese": (Siamese(), (torch.randn(2, 4), torch.randn(2, 4))),
        "gpt": (GPT(), torch.randint(20, (2, 6))),
        "gpt of 12 layers": (GPT(12), torch.randint(20, (2, 6))),
        "experts": (Experts(), torch.randn(3, 4)),
        "dense": (Dense(), torch.randn(3, 2)),
        "cells": (Recurrent(), torch.randn(2, 40, 4)),
        "everything": (Everything(), (torch.randn(2, 3, 8, 8), torch.randint(50, (2, 5)), torch.randn(2, 5))),
        "600 operations": (Wild(), torch.randn(4)),
        "encoder": (nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), torch.randn(2, 5, 8)),
        "linear": (nn.Linear(4, 2), torch.randn(1, 4)),
        "not run": (Residual(), torch.randn(2, 5)),
    }
