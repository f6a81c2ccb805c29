"""A one-block character model: which of a few repeating words comes next?"""

import math

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(2)
WORDS = ["abca", "bdde", "caeb", "ebcd"]
LETTERS = "abcde"


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x):
        batch, length, width = x.shape
        parts = self.qkv(x).view(batch, length, 3, self.heads, width // self.heads)
        q, k, v = parts.permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        mask = torch.tril(torch.ones(length, length))
        scores = scores * mask
        weights = F.softmax(scores, dim=-1)
        return self.out((weights @ v).transpose(1, 2).reshape(batch, length, width))


class CharModel(nn.Module):
    def __init__(self, width=32, length=16):
        super().__init__()
        self.embed = nn.Embedding(len(LETTERS), width)
        self.position = nn.Parameter(0.1 * torch.randn(length, width))
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, 4)
        self.mlp = nn.Sequential(nn.Linear(width, 64), nn.GELU(), nn.Linear(64, width))
        self.head = nn.Linear(width, len(LETTERS))

    def forward(self, tokens):
        x = self.embed(tokens) + self.position[: tokens.shape[1]]
        x = x + self.attention(self.norm1(x))
        x = x + self.mlp(self.norm2(x))
        return self.head(x)


def batch(count=32, length=17):
    rows = []
    for _ in range(count):
        text = "".join(WORDS[i] for i in torch.randint(0, len(WORDS), (6,)).tolist())
        start = int(torch.randint(0, 4, (1,)))
        rows.append([LETTERS.index(letter) for letter in text[start : start + length]])
    tokens = torch.tensor(rows)
    return tokens[:, :-1], tokens[:, 1:]


model = CharModel()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(150):
    tokens, following = batch()
    loss = F.cross_entropy(model(tokens).flatten(0, 1), following.flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 49:
        print(f"step {step + 1}: loss {loss.item():.4f}")
