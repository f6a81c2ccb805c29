"""Gets warnings of several kinds, from torch and from its own code."""

import logging
import warnings

import torch
from fingerprint import STEPS, finish, start
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(5, 5)
        self.soft = nn.Softmax()  # no dim: torch warns, from deep inside the call

    def forward(self, x):
        warnings.warn("an old layer", DeprecationWarning, stacklevel=1)
        warnings.warn("whoever calls this", UserWarning, stacklevel=2)
        return self.inner(x) + self.soft(x)


start()
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
schedule = torch.optim.lr_scheduler.StepLR(optimizer, 10)
schedule.step()  # before the optimizer's first step: torch warns
losses = []
for _ in range(STEPS):
    x = torch.randn(3, 5)
    optimizer.zero_grad()
    loss = (net(x) - x).pow(2).mean()
    loss.backward(create_graph=True)
    optimizer.step()
    schedule.step()
    losses.append(loss.item())
logging.warning("the end")
finish([net], [optimizer], [net(x)], losses)
