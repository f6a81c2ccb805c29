"""Forward, loss and backward in anomaly mode; the log meets a negative number."""

import torch
from torch import nn

torch.manual_seed(15)
net = nn.Linear(5, 1)
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
rows = torch.randn(24, 5)
counts = torch.poisson(rows.exp().sum(1, keepdim=True))
for _ in range(5):
    optimizer.zero_grad()
    with torch.autograd.detect_anomaly():
        rates = net(rows)
        loss = (rates - counts * torch.log(rates)).mean()
        loss.backward()
    optimizer.step()
