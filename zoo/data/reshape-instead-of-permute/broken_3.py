"""A hand-written multi-head attention block learns to copy the token that follows a marker."""
import math

import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)

    def forward(self, x):
        b, t, w = x.shape
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        q = q.reshape(b, self.heads, t, w // self.heads)
        k = k.reshape(b, self.heads, t, w // self.heads)
        v = v.reshape(b, self.heads, t, w // self.heads)
        scores = q @ k.transpose(-2, -1) / math.sqrt(w // self.heads)
        mixed = scores.softmax(-1) @ v
        return self.proj(mixed.transpose(1, 2).reshape(b, t, w))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attn = Attention(width, heads)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x):
        x = x + self.attn(self.n1(x))
        return x + self.mlp(self.n2(x))


class Copier(nn.Module):
    def __init__(self, vocab=8, width=32, heads=4, length=6):
        super().__init__()
        self.tok = nn.Embedding(vocab, width)
        self.pos = nn.Parameter(0.02 * torch.randn(length, width))
        self.blocks = nn.ModuleList([Block(width, heads) for _ in range(2)])
        self.head = nn.Linear(width, vocab)

    def forward(self, ids):
        x = self.tok(ids) + self.pos
        for block in self.blocks:
            x = block(x)
        return self.head(x[:, -1])


def sample(n, length=6):
    ids = torch.randint(1, 8, (n, length))
    at = torch.randint(0, length - 2, (n,))
    ids[torch.arange(n), at] = 0
    return ids, ids[torch.arange(n), at + 1]


torch.manual_seed(0)
model = Copier()
optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
for step in range(150):
    ids, target = sample(32)
    loss = nn.functional.cross_entropy(model(ids), target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 30 == 0:
        print(step, loss.item())
