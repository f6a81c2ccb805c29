"""Single-head self-attention, written from the formula."""
import math

import torch
import torch.nn.functional as F
from torch import nn


class SelfAttention(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.q = nn.Linear(dim, dim)
        self.k = nn.Linear(dim, dim)
        self.v = nn.Linear(dim, dim)

    def forward(self, x):
        q, k, v = self.q(x), self.k(x), self.v(x)
        scores = torch.matmul(q, k) / math.sqrt(q.size(-1))
        return torch.matmul(F.softmax(scores, dim=-1), v)


class Classifier(nn.Module):
    def __init__(self, vocab=32, dim=24, classes=3):
        super().__init__()
        self.embedding = nn.Embedding(vocab, dim)
        self.attention = SelfAttention(dim)
        self.norm = nn.LayerNorm(dim)
        self.out = nn.Linear(dim, classes)

    def forward(self, tokens):
        h = self.embedding(tokens)
        h = self.norm(h + self.attention(h))
        return self.out(h.max(dim=1).values)


torch.manual_seed(3)
model = Classifier()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(150):
    y = torch.randint(0, 3, (32,))
    tokens = torch.randint(3, 32, (32, 10))
    tokens[:, 4] = y
    loss = F.cross_entropy(model(tokens), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 30 == 0:
        print("step", step, "loss", f"{loss.item():.4f}")
