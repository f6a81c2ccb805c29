"""The same look at a network whose linear layer was counted for other images."""

import torch
import torch.nn.functional as F
from torch import nn

import torch_debugger


class Glyphs(nn.Module):
    def __init__(self):
        super().__init__()
        self.edges = nn.Conv2d(1, 4, 3)
        self.shrink = nn.MaxPool2d(2)
        self.hidden = nn.Linear(4 * 9 * 9, 24)

    def forward(self, images):
        maps = self.shrink(F.relu(self.edges(images)))
        return self.hidden(maps.flatten(1))


torch.manual_seed(11)
net = Glyphs()
looker = torch_debugger.Debugger()
scores = looker.run(net, torch.rand(6, 1, 18, 18))
