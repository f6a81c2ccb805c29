"""A network that keeps what its layers give, and the same numbers without a change to it."""

import torch
from torch import nn

import torch_debugger


class Keeping(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3)
        self.gate = nn.ReLU()
        self.second = nn.Conv2d(8, 12, 3)
        self.kept = {}

    def forward(self, images):
        for name in ("first", "gate", "second"):
            images = getattr(self, name)(images)
            self.kept[name] = images.clone()
        return images


torch.manual_seed(37)
net, images = Keeping(), torch.rand(2, 3, 10, 10)
net(images)
for name, values in net.kept.items():
    print(f"{name} {tuple(values.shape)} {values.min():.3f} to {values.max():.3f} {values.mean():.3f}")
print(torch_debugger.activations(net, images))
