"""Adversarial training: attacks are made in evaluation mode, the updates in training mode."""
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(7)
net = nn.Sequential(nn.Linear(10, 48), nn.ReLU(), nn.Dropout(0.2), nn.Linear(48, 2))
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
direction = torch.randn(10)


def attack(x, y, epsilon=0.1):
    net.eval()
    x = x.clone().requires_grad_(True)
    (gradient,) = torch.autograd.grad(F.cross_entropy(net(x), y), x)
    net.train()
    return (x + epsilon * gradient.sign()).detach()


for step in range(150):
    x = torch.randn(64, 10)
    y = (x @ direction > 0).long()
    loss = F.cross_entropy(net(attack(x, y)), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 30 == 0:
        print(step, round(loss.item(), 4))
