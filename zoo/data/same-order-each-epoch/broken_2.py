"""Fit a bumpy surface; each epoch walks over a permutation of the table."""
import numpy as np
import torch
from torch import nn


def minibatches(x, y, size):
    order = np.random.RandomState(42).permutation(len(x))
    for start in range(0, len(order), size):
        chosen = order[start : start + size]
        yield x[chosen], y[chosen]


def run():
    torch.manual_seed(0)
    x = torch.rand(640, 3) * 4 - 2
    y = (x[:, :1] * x[:, 1:2]).sin() + 0.3 * x[:, 2:] + 0.2 * torch.randn(640, 1)
    net = nn.Sequential(nn.Linear(3, 64), nn.GELU(), nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.95)
    for epoch in range(20):
        losses = []
        for bx, by in minibatches(x, y, 32):
            loss = nn.functional.mse_loss(net(bx), by)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        if epoch % 5 == 0:
            print(epoch, sum(losses) / len(losses))


run()
