"""A small convolutional net that tells four kinds of gratings apart."""

import math

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(3)


def gratings(count, size=16):
    kinds = torch.randint(0, 4, (count,))
    angle = kinds.float() * math.pi / 4
    line = torch.arange(size).float()
    ys, xs = torch.meshgrid(line, line, indexing="ij")
    phase = torch.rand(count) * 2 * math.pi
    wave = torch.cos(angle)[:, None, None] * xs + torch.sin(angle)[:, None, None] * ys
    images = torch.sin(0.9 * wave + phase[:, None, None])
    return (images + 0.3 * torch.randn(count, size, size)).unsqueeze(1), kinds


class Net(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 12, kernel_size=3, padding=1)
        self.bn1 = nn.BatchNorm2d(12)
        self.conv2 = nn.Conv2d(12, 24, kernel_size=3, padding=1)
        self.bn2 = nn.BatchNorm2d(24)
        self.head = nn.Linear(24, classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x))), 2)
        x = F.max_pool2d(F.relu(self.bn2(self.conv2(x))), 2)
        return self.head(x.mean(dim=(2, 3)))


images, kinds = gratings(960)
loader = DataLoader(TensorDataset(images, kinds), batch_size=32, shuffle=True)
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)

for epoch in range(4):
    total = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch}: loss {total / len(loader):.4f}")
