"""Sharpness-aware minimisation: gradients are cleared after the climb and made again before the step."""
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(1)
net = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 4))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
centers = 2 * torch.randn(4, 10)


def climb(radius=0.05):
    scale = radius / (sum(p.grad.norm() ** 2 for p in net.parameters()).sqrt() + 1e-12)
    moves = [p.grad * scale for p in net.parameters()]
    with torch.no_grad():
        for p, move in zip(net.parameters(), moves):
            p.add_(move)
    return moves


for step in range(150):
    labels = torch.randint(0, 4, (32,))
    inputs = centers[labels] + torch.randn(32, 10)
    F.cross_entropy(net(inputs), labels).backward()
    moves = climb()
    optimizer.zero_grad()
    loss = F.cross_entropy(net(inputs), labels)
    loss.backward()
    with torch.no_grad():
        for p, move in zip(net.parameters(), moves):
            p.sub_(move)
    optimizer.step()
    optimizer.zero_grad()
    if step % 30 == 0:
        print(step, round(loss.item(), 4))
