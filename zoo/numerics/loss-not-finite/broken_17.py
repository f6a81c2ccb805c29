"""Supervised metric learning on a full distance matrix."""
import torch
from torch import nn


def pairwise(h):
    sq = (h * h).sum(1)
    d2 = sq[:, None] + sq[None, :] - 2 * h @ h.t()
    return d2.clamp(min=0).sqrt()


def contrastive(h, y, margin=1.0):
    d = pairwise(h)
    same = (y[:, None] == y[None, :]).float()
    pull = same * d.pow(2)
    push = (1 - same) * torch.relu(margin - d).pow(2)
    off = 1 - torch.eye(len(y))
    return ((pull + push) * off).sum() / off.sum()


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 8))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
centres = torch.randn(5, 10)

for it in range(50):
    y = torch.randint(0, 5, (24,))
    x = centres[y] + 0.3 * torch.randn(24, 10)
    loss = contrastive(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 10 == 0:
        print(it, loss.item())
