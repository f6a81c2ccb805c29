"""Layers in plain lists, which `.to(device)` does not reach; a checkpointed block; a loop after the mistake."""

from __future__ import annotations

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class PlainList(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = [nn.Linear(4, 4) for _ in range(2)]  # made: PlainList

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for block in self.blocks:
            x = torch.relu(block(x))  # mixed: PlainList
        return x


class PlainDict(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.heads = {"a": nn.Linear(4, 4)}  # made: PlainDict

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.heads["a"](x)  # mixed: PlainDict


class RegisteredTwice(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.parts = [nn.Linear(4, 4)]
        self.all = nn.Sequential(*self.parts)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.parts[0](x)


class MovedByHand(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.pieces = [nn.Linear(4, 4)]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for piece in self.pieces:
            piece.to(x.device)
            x = piece(x)
        return x


class Checkpointed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return checkpoint(self.layer, x, use_reentrant=False) + checkpoint(self.layer, x, use_reentrant=True)


class MadeBeforeALoop(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.places = nn.Linear(4, 4), nn.Embedding(8, 4)
        self.stack = nn.ModuleList([nn.Linear(4, 4)])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.tokens(x) + self.places(torch.arange(8))  # made: MadeBeforeALoop, mixed: MadeBeforeALoop
        for layer in self.stack:
            x = layer(x)
        return x
