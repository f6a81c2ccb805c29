"""A residual net with in-place ReLUs, activation checkpointing of both kinds, and gradient accumulation."""

import torch
from fingerprint import STEPS, finish, start
from torch import nn
from torch.utils.checkpoint import checkpoint


class Block(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(channels, channels, 3, padding=1),
            nn.BatchNorm2d(channels),
            nn.ReLU(inplace=True),
            nn.Dropout(0.1),
            nn.Conv2d(channels, channels, 3, padding=1),
        )

    def forward(self, x):
        return nn.functional.relu_(self.body(x) + x)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(inplace=True))
        self.blocks = nn.ModuleList(Block(8) for _ in range(3))
        self.head = nn.Linear(8, 2)

    def forward(self, x):
        x = self.stem(x)
        x = checkpoint(self.blocks[0], x, use_reentrant=False)
        x = checkpoint(self.blocks[1], x, use_reentrant=True)
        with torch.autograd.graph.save_on_cpu():
            x = self.blocks[2](x)
        return self.head(x.mean((2, 3)))


def main():
    start()
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    losses = []
    for step in range(STEPS):
        x, y = torch.randn(4, 3, 10, 10), torch.randint(0, 2, (4,))
        output = net(x)
        loss = nn.functional.cross_entropy(output, y) / 3
        loss.backward()
        losses.append(loss.item())
        if step % 3 == 2:
            optimizer.step()
            optimizer.zero_grad()
    finish([net], [optimizer], [output], losses)


main()
