"""A lookup of our own finds nothing for one of the names."""
import torch
from torch import nn

torch.manual_seed(0)
stats = {"mean": torch.zeros(3)}
model = nn.Linear(3, 1)
std = stats.get("std")
x = torch.randn(8, 3)
print(model((x - stats["mean"]) / std))
