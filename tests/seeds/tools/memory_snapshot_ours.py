"""What is in memory, by line and variable."""

import torch
from torch import nn

import torch_debugger.memory

torch.manual_seed(0)
with torch_debugger.memory.record():
    net = nn.Linear(200, 300)
    kept = [torch.ones(100, 100) for _ in range(6)]
    taken = torch_debugger.memory.snapshot()
print(taken.stats())
