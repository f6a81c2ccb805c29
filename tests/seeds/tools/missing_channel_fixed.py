"""Grey images with a dimension for their one channel."""

import torch
from torch import nn

torch.manual_seed(0)
scans = torch.randn(12, 20, 20)
edges = nn.Conv2d(1, 6, 3)
scans = scans.unsqueeze(1)
maps = edges(scans)
print(tuple(maps.shape))
