"""A crash whose post-mortem asks a CPU for the memory of its GPU."""

import torch
from torch import nn

torch.manual_seed(21)
net = nn.Sequential(nn.Linear(6, 10), nn.ReLU(), nn.Linear(12, 2))
rows = torch.randn(16, 6)
try:
    loss = net(rows).square().mean()
    loss.backward()
except Exception:
    print(torch.cuda.memory_summary())
    raise
