"""The user's own check of the learning rate."""
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(2, 1)
rate = -0.1
if rate < 0:
    raise ValueError(f"Invalid learning rate: {rate}")
optimizer = torch.optim.SGD(model.parameters(), lr=rate)
