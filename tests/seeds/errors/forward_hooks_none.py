"""Asks for the outputs of convolutions and linear layers of a network that has no linear one."""

import torch
from torch import nn

import torch_debugger

torch.manual_seed(38)
net = nn.Sequential(nn.Conv1d(2, 5, 3), nn.ReLU(), nn.AdaptiveAvgPool1d(1))
print(torch_debugger.activations(net, torch.randn(4, 2, 12), layers=[nn.Conv1d, nn.Linear]))
