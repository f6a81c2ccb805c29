"""A training step under torch_debugger.detect_anomaly and under torch's own, against the plain step.

They take turns in one process, so that a busy machine is busy for all of them; times are medians. Ours is
measured around every single step and around ten at a time: to switch it on costs about as much as 50 small
ops. The goal: at most 1.2 times the plain step. Ours sees the forward and Inf as well.
"""

from __future__ import annotations

import contextlib
import itertools
import statistics
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import torch
from torch import nn
from torch.nn import functional

import torch_debugger

SECONDS = 6.0  # for each row
FEWEST = 15
TOGETHER = 10

Step = Callable[[], None]


def table() -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [("step", "plain ms", "ours", f"ours, {TOGETHER} steps", "torch's own")]
    for device in ["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"]:
        rows += [_row(f"{name}, {device}", make(device)) for name, make in MODELS[device].items()]
    return rows


def _row(name: str, step: Step) -> tuple[str, ...]:
    turns: list[tuple[Callable[[], AbstractContextManager[Any]], int]] = [
        (contextlib.nullcontext, 1),
        (torch_debugger.detect_anomaly, 1),
        (torch_debugger.detect_anomaly, TOGETHER),
        (lambda: torch.autograd.detect_anomaly(check_nan=True), 1),
    ]
    times: list[list[float]] = [[] for _ in turns]
    end = time.monotonic() + SECONDS
    while time.monotonic() < end or len(times[0]) < FEWEST:
        for (region, steps), found in zip(turns, times, strict=True):
            found.append(_time(step, region, steps))
    plain, *others = (statistics.median(found[3:]) for found in times)
    return name, f"{1e3 * plain:.2f}", *(f"{other / plain:.2f}x" for other in others)


def _time(step: Step, region: Callable[[], AbstractContextManager[Any]], steps: int) -> float:
    _wait()
    start = time.perf_counter()
    with region():
        for _ in range(steps):
            step()
    _wait()
    return (time.perf_counter() - start) / steps


def _wait() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def _training(model: nn.Module, loss_of: Callable[[nn.Module], torch.Tensor]) -> Step:
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)

    def step() -> None:
        optimizer.zero_grad()
        loss_of(model).backward()
        optimizer.step()

    return step


def _mlp(device: str, batch: int, width: int) -> Step:
    sizes = [width] * 4 + [10]
    layers = [layer for a, b in itertools.pairwise(sizes) for layer in (nn.Linear(a, b), nn.ReLU())]
    x, y = torch.randn(batch, width, device=device), torch.randint(0, 10, (batch,), device=device)
    model = nn.Sequential(*layers[:-1]).to(device)
    return _training(model, lambda net: functional.cross_entropy(net(x), y) + 1e-4 * net[0].weight.square().mean())


class Block(nn.Module):
    """As in a ResNet."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first, self.second = (nn.Conv2d(channels, channels, 3, padding=1, bias=False) for _ in range(2))
        self.norms = nn.ModuleList(nn.BatchNorm2d(channels) for _ in range(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = torch.relu(self.norms[0](self.first(x)))
        return torch.relu(x + self.norms[1](self.second(h)))


def _cnn(device: str, batch: int, channels: int, blocks: int, size: int) -> Step:
    stem = nn.Conv2d(3, channels, 7, stride=2, padding=3)
    head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 100)]
    model = nn.Sequential(stem, *(Block(channels) for _ in range(blocks)), *head).to(device)
    x = torch.randn(batch, 3, size, size, device=device)
    y = torch.randint(0, 100, (batch,), device=device)
    return _training(model, lambda net: functional.cross_entropy(net(x), y))


class Transformer(nn.Module):
    """As GPT: token and place embeddings, blocks, a head."""

    def __init__(self, width: int, blocks: int, length: int, words: int) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        layer = nn.TransformerEncoderLayer(width, width // 64, 4 * width, 0.1, "gelu", batch_first=True)
        self.blocks = nn.TransformerEncoder(layer, blocks, enable_nested_tensor=False)
        self.head = nn.Linear(width, words)
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(length))

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        places = torch.arange(words.shape[1], device=words.device)
        return self.head(self.blocks(self.tokens(words) + self.places(places), mask=self.mask, is_causal=True))


def _gpt(device: str, batch: int, width: int, blocks: int, length: int, words: int) -> Step:
    model = Transformer(width, blocks, length, words).to(device)
    x = torch.randint(0, words, (batch, length), device=device)
    half = torch.autocast(device, torch.bfloat16, enabled=device == "cuda")

    def loss_of(net: nn.Module) -> torch.Tensor:
        with half:
            logits = net(x)
            return functional.cross_entropy(logits[:, :-1].reshape(-1, words), x[:, 1:].reshape(-1))

    return _training(model, loss_of)


MODELS: dict[str, dict[str, Callable[[str], Step]]] = {
    "cpu": {
        "MLP 256": lambda device: _mlp(device, 128, 256),
        "CNN, 4 blocks of 32": lambda device: _cnn(device, 8, 32, 4, 64),
        "transformer, 2 blocks of 128": lambda device: _gpt(device, 4, 128, 2, 64, 500),
    },
    "cuda": {
        "MLP 1024": lambda device: _mlp(device, 512, 1024),
        "ResNet-like, 24 blocks of 128": lambda device: _cnn(device, 64, 128, 24, 112),
        "GPT-like, 12 blocks of 768, bfloat16": lambda device: _gpt(device, 8, 768, 12, 512, 32000),
    },
}
