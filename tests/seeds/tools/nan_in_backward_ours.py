"""The length of a vector that is zero in one row, under our own anomaly detection."""

import torch
from torch import nn

import torch_debugger

torch.manual_seed(2)
rows = torch.randn(16, 6)
rows[5] = 0
net = nn.Linear(6, 4, bias=False)
lengths = net(rows).pow(2).sum(1).sqrt()
loss = (lengths - 1).pow(2).mean()
try:
    with torch_debugger.detect_anomaly():
        loss.backward()
except torch_debugger.AnomalyError as error:
    print(error)
