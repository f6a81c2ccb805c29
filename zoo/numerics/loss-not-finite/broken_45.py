"""Hinge-loss ranking with gradient scaling to a fixed length."""
import torch
from torch import nn


def rescale(params, length):
    params = list(params)
    total = torch.sqrt(sum((p.grad ** 2).sum() for p in params))
    for p in params:
        p.grad.mul_(length / total)


class Ranker(nn.Module):
    def __init__(self):
        super().__init__()
        self.score = nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, 1))

    def forward(self, a, b):
        return (self.score(a) - self.score(b)).squeeze(1)


torch.manual_seed(18)
model = Ranker()
opt = torch.optim.SGD(model.parameters(), lr=0.1)
good, bad = torch.randn(200, 6) + 1, torch.randn(200, 6) - 1

for step in range(120):
    idx = torch.randint(0, 200, (8,))
    margin = model(good[idx], bad[idx])
    loss = torch.relu(1 - margin).mean()
    opt.zero_grad()
    loss.backward()
    rescale(model.parameters(), 0.5)
    opt.step()
    if step % 10 == 0:
        print(step, loss.item())
