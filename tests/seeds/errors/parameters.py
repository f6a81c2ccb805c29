"""Counts parameters by hand, and by a call that counts tied ones once."""

import torch
from torch import nn

import torch_debugger


def count(net):
    total = sum(parameter.numel() for parameter in net.parameters())
    trained = sum(parameter.numel() for parameter in net.parameters() if parameter.requires_grad)
    print(f"total {total:,} trained {trained:,} frozen {total - trained:,}")
    for path, parameter in net.named_parameters():
        print(f"{path}: {parameter.numel():,}")
    return total, trained


torch.manual_seed(45)
net = nn.Sequential(nn.Linear(30, 40), nn.ReLU(), nn.Linear(40, 6))
net[0].bias.requires_grad_(False)
total, trained = count(net)
counted = torch_debugger.count_parameters(net)
print((counted.total, counted.trainable) == (total, trained))
