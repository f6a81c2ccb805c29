"""A network in which biases and batch norms stand near each other, and every bias counts."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(1)


class Block(nn.Module):
    """Norm first, then the activation, then the layer: the bias goes into the sum."""

    def __init__(self, width):
        super().__init__()
        self.norm = nn.BatchNorm1d(width)
        self.layer = nn.Linear(width, width)

    def forward(self, x):
        return x + self.layer(F.relu(self.norm(x)))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Linear(6, 32)
        self.blocks = nn.Sequential(Block(32), Block(32))
        self.gate = nn.Linear(32, 32)
        self.norm = nn.BatchNorm1d(32)
        self.head = nn.Linear(32, 3)

    def forward(self, x):
        x = self.blocks(self.stem(x))
        score = self.gate(x)
        return self.head(self.norm(score) * torch.sigmoid(score))


inputs = torch.randn(1000, 6)
labels = (inputs[:, 0] * inputs[:, 1] > 0).long() + (inputs[:, 2] > 0.5).long()
net = Net()
optimizer = torch.optim.AdamW(net.parameters(), lr=2e-3)

for step in range(160):
    rows = torch.randint(0, len(inputs), (64,))
    loss = F.cross_entropy(net(inputs[rows]), labels[rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 40 == 39:
        print(f"step {step + 1}: loss {loss.item():.4f}")
