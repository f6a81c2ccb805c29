"""Metric learning on the GPU with the fused Adam."""
import torch
from torch import nn

torch.manual_seed(4)
device = torch.device("cuda")


def distances(h):
    diff = h[:, None] - h[None]
    return diff.pow(2).sum(-1).sqrt()


net = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 8)).to(device)
opt = torch.optim.Adam(net.parameters(), lr=1e-3, fused=True)
centres = torch.randn(5, 10)
for step in range(40):
    y = torch.randint(0, 5, (32,))
    x = (centres[y] + 0.3 * torch.randn(32, 10)).to(device)
    y = y.to(device)
    d = distances(net(x))
    same = (y[:, None] == y[None]).float()
    loss = (same * d + (1 - same) * torch.relu(1 - d)).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 10 == 0:
        print(step, loss.item())
