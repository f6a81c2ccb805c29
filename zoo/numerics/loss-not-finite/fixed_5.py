"""Fit a small network to soft topic distributions."""
import torch
from torch import nn

torch.manual_seed(0)

DOCS, WORDS, TOPICS = 256, 40, 6
counts = torch.poisson(torch.full((DOCS, WORDS), 1.5))
raw = torch.poisson(counts @ torch.rand(WORDS, TOPICS) * 0.06)
target = (raw + (raw.sum(1, keepdim=True) == 0)) / (raw + (raw.sum(1, keepdim=True) == 0)).sum(1, keepdim=True)

net = nn.Sequential(nn.Linear(WORDS, 64), nn.Tanh(), nn.Linear(64, TOPICS))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)


def divergence(p, q):
    ratio = p / q
    return (p * ratio.clamp_min(1e-8).log()).sum(dim=1).mean()


for epoch in range(5):
    order = torch.randperm(DOCS)
    total = 0.0
    for idx in order.split(32):
        q = net(counts[idx]).softmax(dim=1)
        loss = divergence(target[idx], q)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
    print(f"epoch {epoch}: {total / (DOCS / 32):.4f}")
