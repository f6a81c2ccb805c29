"""Summaries of one network: in the form of torchsummary, in that of torchinfo, and torchinfo's own."""

import torch
import torchinfo
from torch import nn

from torch_debugger import summary

torch.manual_seed(46)
net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 100, 5))
print(summary(net, input_size=(3, 12, 12), device="cpu"))
columns = ["input_size", "output_size", "num_params", "kernel_size"]
ours = summary(net, input_size=(6, 3, 12, 12), col_names=columns, depth=2, verbose=0)
theirs = torchinfo.summary(net, input_size=(6, 3, 12, 12), col_names=columns, depth=2, verbose=0)
print(ours)
print("same:", ours.total_params == theirs.total_params)
