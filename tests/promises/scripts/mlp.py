"""A multilayer perceptron, SGD with momentum, everything at module level; ends with a code of its own."""

import sys

import torch
from fingerprint import STEPS, finish, start

start()
net = torch.nn.Sequential(torch.nn.Linear(20, 64), torch.nn.ReLU(), torch.nn.Linear(64, 3))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
losses = []
for _ in range(STEPS):
    x, y = torch.randn(32, 20), torch.randint(0, 3, (32,))
    optimizer.zero_grad()
    output = net(x)
    loss = torch.nn.functional.cross_entropy(output, y)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    optimizer.step()
    losses.append(loss.item())
finish([net], [optimizer], [output], losses)
sys.exit(7)
