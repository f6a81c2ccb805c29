"""Rows of 36 numbers for a layer of that width."""

import torch
from torch import nn

torch.manual_seed(0)
rows = torch.randn(14, 36)
linear = nn.Linear(36, 5)
print(f"rows {tuple(rows.shape)}, the layer expects {linear.in_features}")
print(tuple(linear(rows).shape))
