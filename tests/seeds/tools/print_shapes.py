"""Prints the shapes that meet in a layer, before they do."""

import torch
from torch import nn

import torch_debugger

torch.manual_seed(0)
rows = torch.randn(9, 14)
layer = nn.Linear(14, 3)
print(f"rows {tuple(rows.shape)}, weight {tuple(layer.weight.shape)}")
print(tuple(layer(rows).shape))
print(torch_debugger.describe(rows))
