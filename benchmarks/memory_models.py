"""A ResNet-50, a GPT-2 and a U-Net of full width, each with a batch and a loss."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional


@dataclass(frozen=True)
class Case:
    name: str
    make: Callable[[], nn.Module]
    batch: Callable[[], tuple[torch.Tensor, torch.Tensor]]  # inputs and targets
    loss: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


class Bottleneck(nn.Module):
    def __init__(self, channels: int, width: int, stride: int) -> None:
        super().__init__()
        out = 4 * width
        self.conv1, self.bn1 = nn.Conv2d(channels, width, 1, bias=False), nn.BatchNorm2d(width)
        self.conv2, self.bn2 = nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width)
        self.conv3, self.bn3 = nn.Conv2d(width, out, 1, bias=False), nn.BatchNorm2d(out)
        self.relu = nn.ReLU(inplace=True)
        changes = stride != 1 or channels != out
        self.shortcut = (
            nn.Sequential(nn.Conv2d(channels, out, 1, stride, bias=False), nn.BatchNorm2d(out)) if changes else None
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.relu(self.bn2(self.conv2(y)))
        y = self.bn3(self.conv3(y))
        y += x if self.shortcut is None else self.shortcut(x)
        return self.relu(y)


class ResNet50(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, 64, 7, 2, 3, bias=False),
            nn.BatchNorm2d(64),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(3, 2, 1),
        )
        blocks, channels = [], 64
        for width, count, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
            for number in range(count):
                blocks.append(Bottleneck(channels, width, stride if number == 0 else 1))
                channels = 4 * width
        self.blocks = nn.Sequential(*blocks)
        self.head = nn.Linear(2048, 1000)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.blocks(self.stem(x)).mean((2, 3)))


class Block(nn.Module):
    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.ln1, self.ln2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.drop = nn.Dropout(dropout)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        parts = self.qkv(self.ln1(x)).split(width, dim=2)
        q, k, v = (part.view(batch, length, self.heads, -1).transpose(1, 2) for part in parts)
        p = self.dropout if self.training else 0.0
        y = functional.scaled_dot_product_attention(q, k, v, dropout_p=p, is_causal=True)
        x = x + self.drop(self.out(y.transpose(1, 2).reshape(batch, length, width)))
        return x + self.drop(self.down(functional.gelu(self.up(self.ln2(x)))))


class GPT2(nn.Module):
    def __init__(self, tokens: int = 50257, width: int = 768, layers: int = 12, heads: int = 12) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(tokens, width), nn.Embedding(1024, width)
        self.drop = nn.Dropout(0.1)
        self.blocks = nn.Sequential(*(Block(width, heads, 0.1) for _ in range(layers)))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, tokens, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        places = torch.arange(x.shape[1], device=x.device)
        return self.head(self.norm(self.blocks(self.drop(self.tokens(x) + self.places(places)))))


def double(channels: int, out: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(channels, out, 3, padding=1), nn.BatchNorm2d(out), nn.ReLU(inplace=True),
        nn.Conv2d(out, out, 3, padding=1), nn.BatchNorm2d(out), nn.ReLU(inplace=True),
    )  # fmt: skip


class UNet(nn.Module):
    def __init__(self, width: int = 64, depth: int = 4, classes: int = 2) -> None:
        super().__init__()
        widths = [width * 2**level for level in range(depth + 1)]
        self.down = nn.ModuleList(
            double(before, after) for before, after in zip([3, *widths[:-1]], widths, strict=True)
        )
        self.up = nn.ModuleList(nn.ConvTranspose2d(2 * each, each, 2, 2) for each in reversed(widths[:-1]))
        self.join = nn.ModuleList(double(2 * each, each) for each in reversed(widths[:-1]))
        self.head = nn.Conv2d(width, classes, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        kept = []
        for level, block in enumerate(self.down):
            x = block(x if level == 0 else functional.max_pool2d(x, 2))
            kept.append(x)
        for up, join, skip in zip(self.up, self.join, reversed(kept[:-1]), strict=True):
            x = join(torch.cat([skip, up(x)], dim=1))
        return self.head(x)


def cases() -> list[Case]:
    def images(size: int, count: int) -> torch.Tensor:
        return torch.zeros(count, 3, size, size)

    def tokens(count: int) -> torch.Tensor:
        return torch.zeros(count, 512, dtype=torch.long)

    return [
        Case(
            "ResNet-50",
            ResNet50,
            lambda: (images(224, 64), torch.zeros(64, dtype=torch.long)),
            functional.cross_entropy,
        ),
        Case(
            "GPT-2 124M",
            GPT2,
            lambda: (tokens(8), tokens(8)),
            lambda out, y: functional.cross_entropy(out.flatten(0, 1), y.flatten()),
        ),
        Case(
            "U-Net",
            UNet,
            lambda: (images(256, 8), torch.zeros(8, 256, 256, dtype=torch.long)),
            functional.cross_entropy,
        ),
    ]
