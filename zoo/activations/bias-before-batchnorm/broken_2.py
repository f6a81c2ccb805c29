"""Regression of a smooth function of eight features, written as a Sequential and a trainer class."""

import torch
from torch import nn

torch.manual_seed(0)


class Trainer:
    def __init__(self, net, lr):
        self.net = net
        self.optimizer = torch.optim.Adam(net.parameters(), lr=lr)
        self.criterion = nn.SmoothL1Loss()

    def fit(self, x, y, epochs, batch_size=64):
        self.net.train()
        for epoch in range(epochs):
            order = torch.randperm(len(x))
            losses = [self.step(x[rows], y[rows]) for rows in order.split(batch_size)]
            print(f"epoch {epoch}: {sum(losses) / len(losses):.4f}")

    def step(self, x, y):
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.criterion(self.net(x).squeeze(1), y)
        loss.backward()
        self.optimizer.step()
        return loss.item()


x = torch.rand(1280, 8) * 2 - 1
y = torch.sin(3 * x[:, 0]) + x[:, 1] * x[:, 2] - x[:, 3] ** 2

net = nn.Sequential(
    nn.Linear(8, 64),
    nn.BatchNorm1d(64),
    nn.GELU(),
    nn.Linear(64, 1),
)
Trainer(net, lr=3e-3).fit(x, y, epochs=8)
