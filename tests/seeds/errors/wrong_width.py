"""Rows of 36 numbers for a layer that was built for 24."""

import torch
from torch import nn

torch.manual_seed(0)
rows = torch.randn(14, 36)
linear = nn.Linear(24, 5)
print(f"rows {tuple(rows.shape)}, the layer expects {linear.in_features}")
print(tuple(linear(rows).shape))
