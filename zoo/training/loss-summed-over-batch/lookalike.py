"""Sums with a rate to match, and a divergence summed over the code but divided by the batch."""
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(2)
net = nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, 3))
opt = torch.optim.SGD(net.parameters(), lr=3e-4, momentum=0.9)
for step in range(250):
    x = torch.randn(100, 6)
    y = (x[:, 0] > 0).long() + (x[:, 1] > 0.3).long()
    loss = F.cross_entropy(net(x), y, reduction="sum")
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 50 == 0:
        print(step, round(loss.item() / 100, 4))
