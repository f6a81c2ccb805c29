"""A small convolutional classifier in functions."""
import torch
from torch import nn

torch.manual_seed(0)
conv = nn.Sequential(nn.Conv2d(1, 4, 3, stride=2, padding=1), nn.ReLU(), nn.Conv2d(4, 8, 3, stride=2, padding=1))
head = nn.Linear(8 * 4 * 4, 3)
optimizer = torch.optim.Adam([*conv.parameters(), *head.parameters()], lr=3e-3)
patterns = torch.randn(3, 1, 16, 16)


def classify(x):
    maps = torch.relu(conv(x))
    maps = maps.view(-1, 8 * 4)
    return head(maps)


for step in range(60):
    y = torch.randint(0, 3, (24,))
    loss = nn.functional.cross_entropy(classify(patterns[y] + 0.5 * torch.randn(24, 1, 16, 16)), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(step, loss.item())
