"""Activation maximization: an input that excites one channel, by hand and by our call."""

import torch
from torch import nn

from torch_debugger import pictures

torch.manual_seed(72)
net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU())
image = torch.rand(1, 3, 12, 12, requires_grad=True)
before = net(image)[0, 1].mean().item()
climber = torch.optim.Adam([image], lr=0.05)
for _ in range(20):
    climber.zero_grad()
    excitement = -net(image)[0, 1].mean()
    excitement.backward()
    climber.step()
print("more excited:", -excitement.item() > before)
pictures.maximize(net, "0", channels=[1], input_size=(3, 12, 12), steps=8).save("excites.png")
