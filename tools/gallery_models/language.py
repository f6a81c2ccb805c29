"""Short sentences about animals, letter by letter, and a small transformer that learns to go on with them."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional

from gallery_models.training import trained

LETTERS = tuple("abcdefghijklmnopqrstuvwxyz .")
LENGTH = 40
_WHO, _DOES, _WHERE = (
    ("cat", "dog", "owl", "fox", "hen"),
    ("sits", "sleeps", "hunts", "waits"),
    ("here", "there"),
)


def text(sentences: int, seed: int) -> str:
    draw = torch.Generator().manual_seed(seed)
    said = []
    for _ in range(sentences):
        who, does, where = (
            words[int(torch.randint(len(words), (1,), generator=draw))] for words in (_WHO, _DOES, _WHERE)
        )
        said.append(f"the {who} {does} {where}.")
    return " ".join(said)


def as_tokens(words: str) -> torch.Tensor:
    return torch.tensor([LETTERS.index(letter) for letter in words])


def stretches(count: int, seed: int) -> torch.Tensor:
    """[count, LENGTH] tokens, each from somewhere in the text."""
    tokens = as_tokens(text(400, seed))
    draw = torch.Generator().manual_seed(seed)
    starts = torch.randint(len(tokens) - LENGTH, (count, 1), generator=draw)
    return tokens[starts + torch.arange(LENGTH)]


class Block(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.ReLU(), nn.Linear(2 * width, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        parts = self.qkv(self.norm1(x)).chunk(3, dim=2)
        query, key, value = (part.unflatten(2, (self.heads, -1)).transpose(1, 2) for part in parts)
        mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).flatten(2))
        return x + self.mlp(self.norm2(x))


class LetterModel(nn.Module):
    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.embedding = nn.Embedding(len(LETTERS), width)
        self.position = nn.Embedding(LENGTH, width)
        self.blocks = nn.ModuleList([Block(width, 4), Block(width, 4)])
        self.head = nn.Linear(width, len(LETTERS))

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embedding(tokens) + self.position(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def next_letter(scores: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
    return functional.cross_entropy(scores[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())


def trained_letters(steps: int = 250) -> LetterModel:
    tokens = stretches(1024, seed=1)
    return trained(LetterModel, next_letter, tokens, tokens, steps)
