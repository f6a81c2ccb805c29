"""One small model of every kind that people look into, with an input for it, always the same."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn


def seeded(maker: type[nn.Module]) -> nn.Module:
    """The same weights each time; the process's own random numbers stay where they are."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(7)
        return maker()


def images(count: int = 2, size: int = 16, channels: int = 3) -> torch.Tensor:
    return torch.randn(count, channels, size, size, generator=torch.Generator().manual_seed(3))


def tokens(count: int = 2, length: int = 7, words: int = 20) -> torch.Tensor:
    return torch.randint(words, (count, length), generator=torch.Generator().manual_seed(3))


class Convolutional(nn.Module):
    """Two blocks with batch norm and an in-place ReLU, pooled, four classes."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 8, 5, padding=2)
        self.bn1 = nn.BatchNorm2d(8)
        self.conv2 = nn.Conv2d(8, 12, 3, padding=1)
        self.relu = nn.ReLU(inplace=True)
        self.drop = nn.Dropout(0.3)
        self.fc = nn.Linear(12, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.max_pool2d(self.relu(self.bn1(self.conv1(x))), 2)
        x = self.relu(self.conv2(x))
        return self.fc(self.drop(x.mean((2, 3))))


class VisionTransformer(nn.Module):
    """Patches of 4, a class token in front, two encoder layers."""

    def __init__(self) -> None:
        super().__init__()
        self.patch = nn.Conv2d(3, 16, 4, stride=4)
        self.cls = nn.Parameter(torch.randn(1, 1, 16) * 0.02)
        self.position = nn.Parameter(torch.randn(1, 17, 16) * 0.02)
        layer = nn.TransformerEncoderLayer(16, 4, 32, dropout=0.1, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(16)
        self.head = nn.Linear(16, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        patches = self.patch(x).flatten(2).transpose(1, 2)
        both = torch.cat([self.cls.expand(len(x), -1, -1), patches], dim=1) + self.position
        return self.head(self.norm(self.encoder(both))[:, 0])


class Recurrent(nn.Module):
    """Words to a class, through an LSTM."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(20, 8)
        self.lstm = nn.LSTM(8, 12, batch_first=True)
        self.fc = nn.Linear(12, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        output, _ = self.lstm(self.embedding(x))
        return self.fc(output[:, -1])


class _CausalBlock(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(16, 48)
        self.out = nn.Linear(16, 16)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        heads = [part.unflatten(2, (4, 4)).transpose(1, 2) for part in self.qkv(x).chunk(3, dim=2)]
        mixed = F.scaled_dot_product_attention(*heads, is_causal=True)
        return x + self.out(mixed.transpose(1, 2).flatten(2))


class Language(nn.Module):
    """A decoder that attends by F.scaled_dot_product_attention, as GPT-like models are written by hand."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(20, 16)
        self.blocks = nn.ModuleList([_CausalBlock(), _CausalBlock()])
        self.head = nn.Linear(16, 20)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embedding(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


class Segmenting(nn.Module):
    """A small U-Net: five classes for every pixel."""

    def __init__(self) -> None:
        super().__init__()
        self.down = nn.Conv2d(3, 8, 3, padding=1)
        self.deep = nn.Conv2d(8, 16, 3, stride=2, padding=1)
        self.up = nn.ConvTranspose2d(16, 8, 2, stride=2)
        self.out = nn.Conv2d(16, 5, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        first = F.relu(self.down(x))
        return self.out(torch.cat([first, F.relu(self.up(F.relu(self.deep(first))))], dim=1))
