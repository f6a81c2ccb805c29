# Binary classifier on two moons.
import math

import torch
import torch.nn.functional as F


def moons(n):
    angle = math.pi * torch.rand(n)
    upper = torch.rand(n) < 0.5
    x = torch.where(upper, torch.cos(angle), 1 - torch.cos(angle))
    y = torch.where(upper, torch.sin(angle), 0.5 - torch.sin(angle))
    return torch.stack([x, y], 1) + 0.1 * torch.randn(n, 2), upper.float()


class Moons(torch.nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.inner = torch.nn.Linear(2, width)
        self.outer = torch.nn.Linear(width, 1)

    def forward(self, points):
        h = torch.relu(self.inner(points))
        return torch.sigmoid(self.outer(h))


def fit(steps=200):
    torch.manual_seed(12)
    net = Moons()
    opt = torch.optim.SGD(net.parameters(), lr=0.5)
    for step in range(steps):
        points, upper = moons(128)
        p = net(points).squeeze(1)
        loss = F.binary_cross_entropy(p, upper)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 40 == 0:
            print(step, loss.item())


fit()
