"""Causal self-attention with a -inf mask, and padded positions on top of it."""
import math

import torch
import torch.nn.functional as F
from torch import nn


class CausalAttention(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.qkv = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)

    def forward(self, x, padding):
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        scores = q @ k.transpose(1, 2) / math.sqrt(x.size(-1))
        future = torch.full(scores.shape[-2:], float("-inf")).triu(1)
        scores = scores + future
        scores = scores.masked_fill(padding[:, None, :], float("-inf"))
        return x + self.out(scores.softmax(dim=-1) @ v)


class Model(nn.Module):
    def __init__(self, vocab=12, dim=24):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.place = nn.Parameter(torch.randn(9, dim) * 0.1)
        self.attend = CausalAttention(dim)
        self.head = nn.Linear(dim, vocab)

    def forward(self, ids):
        padding = ids == 0
        return self.head(self.attend(self.embed(ids) + self.place[: ids.size(1)], padding))


torch.manual_seed(0)
model = Model()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(250):
    first = torch.randint(1, 12, (48, 1))
    ids = (first + torch.arange(9) - 1) % 11 + 1
    lengths = torch.randint(4, 10, (48, 1))
    ids = ids * (torch.arange(9) < lengths)
    logits = model(ids[:, :-1])
    loss = F.cross_entropy(logits.reshape(-1, 12), ids[:, 1:].reshape(-1), ignore_index=0)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(f"step {step}: {loss.item():.4f}")
