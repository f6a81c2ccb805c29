"""The models of `anatomy.py`, with their multiply-accumulates counted by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.nn import functional


class Case(NamedTuple):
    name: str
    model: nn.Module
    inputs: tuple[torch.Tensor, ...]
    macs: int  # by hand
    backward_macs: int | None = None


class Calls(nn.Module):
    """A function as a module, with layers of its own."""

    def __init__(self, function: Callable[..., Any], **layers: nn.Module) -> None:
        super().__init__()
        self.function = function
        for name, layer in layers.items():
            self.add_module(name, layer)

    def forward(self, *inputs: torch.Tensor) -> Any:
        return self.function(self, *inputs)


def eight_modules() -> list[Case]:
    cnn = nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1),
        nn.Conv2d(16, 16, 3, padding=1, groups=16),
        nn.ConvTranspose2d(16, 8, 2, 2),
    )
    pixels = 2 * 32 * 32
    projections, square = 4 * 2 * 10 * 64 * 64, 2 * 2 * 10 * 10 * 64
    feed_forward = 2 * 2 * 10 * 64 * 128
    tokens = torch.randn(2, 10, 64)
    encoder = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True).eval()
    heads = torch.randn(2, 4, 10, 16)
    return [
        Case("Linear on [2, 10, 64]", nn.Linear(64, 32), (tokens,), 2 * 10 * 64 * 32),
        Case(
            "conv, depthwise, transposed",
            cnn,
            (torch.randn(2, 3, 32, 32),),
            pixels * 16 * 3 * 9 + pixels * 16 * 9 + pixels * 16 * 8 * 4,
        ),
        Case(
            "MultiheadAttention",
            Calls(lambda self, x: self.attend(x, x, x)[0], attend=nn.MultiheadAttention(64, 4, batch_first=True)),
            (tokens,),
            projections + square,
        ),
        Case(
            "fused attention",
            Calls(lambda self, q: functional.scaled_dot_product_attention(q, q, q)),
            (heads,),
            2 * 2 * 4 * 10 * 10 * 16,
        ),
        Case(
            "matmul + einsum + F.linear",
            Calls(lambda self, a, b: (a @ b, torch.einsum("bij,bjk->bik", a, b), functional.linear(a[0], b[0].T))),
            (torch.randn(3, 8, 16), torch.randn(3, 16, 4)),
            3 * 8 * 16 * 4 + 3 * 8 * 16 * 4 + 8 * 16 * 4,
        ),
        Case(
            "LSTM + GRU",
            Calls(lambda self, x: self.gru(self.lstm(x)[0])[0], lstm=nn.LSTM(32, 64), gru=nn.GRU(64, 32)),
            (torch.randn(12, 2, 32),),
            12 * 2 * 4 * 64 * (32 + 64) + 12 * 2 * 3 * 32 * (64 + 32),
        ),
        Case("TransformerEncoderLayer, eval", encoder, (tokens,), projections + square + feed_forward),
        Case(
            "one Linear, four times",
            Calls(lambda self, x: self.fc(self.fc(self.fc(self.fc(x)))), fc=nn.Linear(64, 64)),
            (torch.randn(5, 64),),
            4 * 5 * 64 * 64,
        ),
    ]


class Bottleneck(nn.Module):
    def __init__(self, given: int, width: int, stride: int) -> None:
        super().__init__()
        made = 4 * width
        self.conv1, self.bn1 = nn.Conv2d(given, width, 1, bias=False), nn.BatchNorm2d(width)
        self.conv2, self.bn2 = nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width)
        self.conv3, self.bn3 = nn.Conv2d(width, made, 1, bias=False), nn.BatchNorm2d(made)
        self.relu = nn.ReLU(inplace=True)
        plain = stride == 1 and given == made
        short = [nn.Conv2d(given, made, 1, stride, bias=False), nn.BatchNorm2d(made)]
        self.short = nn.Identity() if plain else nn.Sequential(*short)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.relu(self.bn2(self.conv2(y)))
        return self.relu(self.bn3(self.conv3(y)) + self.short(x))


def resnet50() -> nn.Module:
    layers: list[nn.Module] = [
        nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)
    ]  # fmt: skip
    given = 64
    for width, blocks, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for block in range(blocks):
            layers.append(Bottleneck(given, width, stride if block == 0 else 1))
            given = 4 * width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, 1000))


def resnet50_macs(size: int) -> tuple[int, int]:
    """Forward, and backward: twice as much, but for the input of the first layer."""
    side = size // 2
    stem = side * side * 64 * 3 * 49
    macs, side, given = stem, side // 2, 64
    for width, blocks, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for block in range(blocks):
            before, side = side, side // (stride if block == 0 else 1)
            macs += before * before * given * width + side * side * (9 * width * width + width * 4 * width)
            macs += side * side * given * 4 * width if block == 0 else 0
            given = 4 * width
    macs += 2048 * 1000
    return macs, 2 * macs - stem


class Gpt(nn.Module):
    def __init__(self, words: int, width: int, depth: int, heads: int, length: int) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        self.blocks = nn.ModuleList(GptBlock(width, heads) for _ in range(depth))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)
        self.head.weight = self.words.weight

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.words(tokens) + self.places(torch.arange(tokens.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


class GptBlock(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norm1, self.norm2, self.heads = nn.LayerNorm(width), nn.LayerNorm(width), heads
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = self.qkv(self.norm1(x)).unflatten(2, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).flatten(2))
        return x + self.mlp(self.norm2(x))


def gpt_macs(words: int, width: int, depth: int, length: int) -> tuple[int, int]:
    """A fused backward computes the scores again: five squares to two."""
    linear = depth * length * 12 * width * width + length * width * words
    square = depth * length * length * width
    return linear + 2 * square, 2 * linear + 5 * square


class Vit(nn.Module):
    def __init__(self, width: int, depth: int, heads: int, size: int) -> None:
        super().__init__()
        self.patch = nn.Conv2d(3, width, 16, 16)
        self.first = nn.Parameter(torch.zeros(1, 1, width))
        self.places = nn.Parameter(torch.zeros(1, (size // 16) ** 2 + 1, width))
        layer = nn.TransformerEncoderLayer(width, heads, 4 * width, 0.0, "gelu", batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.head = nn.Linear(width, 1000)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        patches = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.first.expand(len(x), -1, -1), patches], 1) + self.places
        return self.head(self.encoder(x)[:, 0])


def vit_macs(width: int, depth: int, size: int) -> tuple[int, int]:
    patches = (size // 16) ** 2
    length = patches + 1
    patch, head = patches * 3 * 256 * width, width * 1000
    linear, square = depth * length * 12 * width * width, depth * length * length * width
    return patch + linear + 2 * square + head, patch + 2 * linear + 5 * square + 2 * head


class Unet(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.down1, self.down2 = _two(3, width), _two(width, 2 * width)
        self.deep = _two(2 * width, 4 * width)
        self.up2, self.up1 = (
            nn.ConvTranspose2d(4 * width, 2 * width, 2, 2),
            nn.ConvTranspose2d(2 * width, width, 2, 2),
        )
        self.join2, self.join1 = _two(4 * width, 2 * width), _two(2 * width, width)
        self.out = nn.Conv2d(width, 5, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        first = self.down1(x)
        second = self.down2(functional.max_pool2d(first, 2))
        deep = self.deep(functional.max_pool2d(second, 2))
        second = self.join2(torch.cat([second, self.up2(deep)], 1))
        return self.out(self.join1(torch.cat([first, self.up1(second)], 1)))


def _two(given: int, made: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(given, made, 3, padding=1), nn.ReLU(), nn.Conv2d(made, made, 3, padding=1), nn.ReLU()
    )


def unet_macs(width: int, size: int) -> tuple[int, int]:
    def two(side: int, given: int, made: int) -> int:
        return side * side * 9 * (given * made + made * made)

    half, quarter = size // 2, size // 4
    w = width
    macs = two(size, 3, w) + two(half, w, 2 * w) + two(quarter, 2 * w, 4 * w)
    macs += quarter**2 * 4 * w * 2 * w * 4 + half**2 * 2 * w * w * 4
    macs += two(half, 4 * w, 2 * w) + two(size, 2 * w, w) + size**2 * w * 5
    return macs, 2 * macs - size**2 * 9 * 3 * w


class Tagger(nn.Module):
    def __init__(self, words: int, width: int) -> None:
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.lstm = nn.LSTM(width, width, 2, batch_first=True, bidirectional=True)
        self.head = nn.Linear(2 * width, words)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.head(self.lstm(self.words(tokens))[0])


def tagger_macs(words: int, width: int, steps: int) -> tuple[int, int]:
    first = steps * 2 * 4 * width * (width + width)
    second = steps * 2 * 4 * width * (2 * width + width)
    macs = first + second + steps * 2 * width * words
    return macs, 2 * macs


def larger_models(small: bool) -> list[Case]:
    size, length, words = (64, 64, 1000) if small else (224, 512, 50257)
    width, depth = (192, 3) if small else (768, 12)
    image, tokens = torch.randn(1, 3, size, size), torch.randint(words, (1, length))
    return [
        Case("ResNet-50", resnet50(), (image,), *resnet50_macs(size)),
        Case("ViT-B/16", Vit(width, depth, 12, size), (image,), *vit_macs(width, depth, size)),
        Case("GPT-2", Gpt(words, width, depth, 12, length), (tokens,), *gpt_macs(words, width, depth, length)),
        Case("U-Net", Unet(64), (image,), *unet_macs(64, size)),
        Case("LSTM", Tagger(1000, 256), (tokens % 1000,), *tagger_macs(1000, 256, length)),
    ]
