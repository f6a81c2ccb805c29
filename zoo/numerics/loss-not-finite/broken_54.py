"""Embeddings pulled together and apart by distance; anomaly mode is on while the model is new."""
import torch
from torch import nn

torch.autograd.set_detect_anomaly(True)
torch.manual_seed(3)
net = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 8))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
centres = torch.randn(4, 6) * 2


def distances(z):
    difference = z[:, None] - z[None]
    return difference.pow(2).sum(-1).sqrt()


for step in range(60):
    label = torch.randint(0, 4, (24,))
    z = net(centres[label] + 0.3 * torch.randn(24, 6))
    same = (label[:, None] == label[None]).float()
    d = distances(z)
    loss = (same * d + (1 - same) * (2.0 - d).clamp_min(0.0)).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 10 == 0:
        print(step, round(loss.item(), 4))
