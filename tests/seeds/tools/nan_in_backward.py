"""The length of a vector that is zero in one row: its gradient there is NaN."""

import torch
from torch import nn


def report_nan(values, name):
    if torch.isnan(values).any():
        print("NaN in", name)


torch.manual_seed(2)
rows = torch.randn(16, 6)
rows[5] = 0
net = nn.Linear(6, 4, bias=False)
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
for _ in range(4):
    codes = net(rows)
    lengths = codes.pow(2).sum(1).sqrt()
    loss = (lengths - 1).pow(2).mean()
    optimizer.zero_grad()
    with torch.autograd.detect_anomaly():
        loss.backward()
    torch.nn.utils.clip_grad_norm_(net.parameters(), max_norm=1.0)
    report_nan(net.weight.grad, "weight.grad")
    optimizer.step()
