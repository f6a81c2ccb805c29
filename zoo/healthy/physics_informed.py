"""Solve an oscillator's equation with a network: derivatives in the loss, weights on its parts."""
import torch
from torch import nn


class Wave(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))

    def forward(self, t):
        return self.layers(t)


def slope(y, t):
    return torch.autograd.grad(y.sum(), t, create_graph=True)[0]


torch.manual_seed(11)
net = Wave()
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
start = torch.zeros(1, 1, requires_grad=True)
for step in range(200):
    t = (3 * torch.rand(64, 1)).requires_grad_()
    y = net(t)
    residual = slope(slope(y, t), t) + 4 * y
    begin = net(start)
    loss = residual.pow(2).mean() + 10 * (begin - 1).pow(2).mean() + 10 * slope(begin, start).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 40 == 0:
        print(f"step {step}: {loss.item():.4f}")
