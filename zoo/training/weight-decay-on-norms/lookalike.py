"""A convolutional net with the usual weak decay on everything, norms included."""

import torch
from torch import nn

torch.manual_seed(2)
net = nn.Sequential(
    nn.Conv1d(2, 16, 5, padding=2, bias=False),
    nn.BatchNorm1d(16),
    nn.ReLU(),
    nn.Conv1d(16, 16, 5, padding=2, bias=False),
    nn.BatchNorm1d(16),
    nn.ReLU(),
    nn.AdaptiveAvgPool1d(1),
    nn.Flatten(),
    nn.LayerNorm(16),
    nn.Linear(16, 2),
)
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)


def signals(count):
    kinds = torch.randint(0, 2, (count,))
    time = torch.linspace(0, 6.28, 40)
    speed = 2.0 + 2.0 * kinds.float()
    waves = torch.sin(speed[:, None] * time + 6.28 * torch.rand(count, 1))
    return torch.stack((waves, waves.roll(5, 1)), 1) + 0.5 * torch.randn(count, 2, 40), kinds


for step in range(120):
    x, kinds = signals(32)
    loss = nn.functional.cross_entropy(net(x), kinds)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 40 == 39:
        print(f"step {step + 1}: loss {loss.item():.4f}")
