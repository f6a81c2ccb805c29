"""Multiplications and parameters of a forward; a count by hand beside it."""

import torch
from torch import nn

from torch_debugger import flops

torch.manual_seed(47)
net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 64, 10))
image = torch.randn(1, 3, 10, 10)
count = flops(net, image)
by_hand = 4 * 8 * 8 * 3 * 9 + 4 * 64 * 10
print(count.macs, by_hand)
print(f"{sum(parameter.numel() for parameter in net.parameters())} parameters")
