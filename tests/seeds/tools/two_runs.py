"""Trains the same small network at two rates and logs each into a folder of its own below runs."""

import torch
from torch import nn
from torch.utils.tensorboard import SummaryWriter

for name, rate in (("slow", 0.02), ("fast", 0.1)):
    torch.manual_seed(3)
    inputs = torch.randn(120, 4)
    wanted = inputs @ torch.tensor([[1.0], [-2.0], [0.5], [0.0]])
    net = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=rate)
    writer = SummaryWriter(f"./runs/{name}")
    for step in range(40):
        loss = nn.functional.mse_loss(net(inputs), wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        writer.add_scalar("Loss/fit", loss, step)
    writer.close()
