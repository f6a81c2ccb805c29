"""Logs histograms of weights and gradients after each epoch."""

import torch
from torch import nn
from torch.utils.tensorboard import SummaryWriter

torch.manual_seed(4)
rows, kinds = torch.randn(96, 8), torch.randint(0, 3, (96,))
kinds[rows[:, 0] > 0] = 2
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
writer = SummaryWriter("runs/spread")
for epoch in range(6):
    for part in range(0, 96, 16):
        loss = nn.functional.cross_entropy(net(rows[part : part + 16]), kinds[part : part + 16])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    for path, parameter in net.named_parameters():
        writer.add_histogram(f"weights/{path}", parameter, epoch)
        writer.add_histogram(f"grads/{path}", parameter.grad, epoch)
writer.close()
