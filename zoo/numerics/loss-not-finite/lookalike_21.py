"""Triplet loss with hardest mining, invalid pairs are set to plus or minus infinity."""
import torch
from torch import nn


def batch_hard(h, y, margin=0.5):
    d = torch.cdist(h, h)
    same = y[:, None] == y[None]
    eye = torch.eye(len(y), dtype=torch.bool)
    positive = d.masked_fill(~same | eye, float("-inf")).amax(1)
    negative = d.masked_fill(same, float("inf")).amin(1)
    ok = torch.isfinite(positive) & torch.isfinite(negative)
    return torch.relu(positive[ok] - negative[ok] + margin).mean()


torch.manual_seed(17)
net = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 8))
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
means = torch.randn(6, 12)
for step in range(120):
    y = torch.randint(0, 6, (16,))
    loss = batch_hard(net(means[y] + 0.6 * torch.randn(16, 12)), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 20 == 0:
        print(step, loss.item())
print("final", loss.item())
