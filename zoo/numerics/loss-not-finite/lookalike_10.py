"""Hand-written cross-entropies on clamped probabilities."""
import torch
from torch import nn


class ClampedBCE(nn.Module):
    def __init__(self, eps=1e-6):
        super().__init__()
        self.eps = eps

    def forward(self, p, y):
        p = p.clamp(self.eps, 1 - self.eps)
        return -(y * p.log() + (1 - y) * (1 - p).log()).mean()


torch.manual_seed(6)
net = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 1), nn.Sigmoid())
criterion = ClampedBCE()
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for step in range(200):
    x = torch.randn(64, 8) * 20
    y = (x[:, :1] + x[:, 1:2] > 0).float()
    loss = criterion(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 40 == 0:
        print(step, loss.item())
print("final", loss.item())
