"""Looks at one forward pass of a small convolutional network."""

import torch
import torch.nn.functional as F
from torch import nn

import torch_debugger


class Glyphs(nn.Module):
    def __init__(self):
        super().__init__()
        self.edges = nn.Conv2d(1, 4, 3)
        self.shrink = nn.MaxPool2d(2)
        self.strokes = nn.Conv2d(4, 8, 3)
        self.hidden = nn.Linear(8 * 3 * 3, 24)
        self.scores = nn.Linear(24, 5)

    def forward(self, images):
        maps = self.shrink(F.relu(self.edges(images)))
        maps = self.shrink(F.relu(self.strokes(maps)))
        return self.scores(F.relu(self.hidden(maps.flatten(1))))


torch.manual_seed(11)
net = Glyphs()
images = torch.rand(6, 1, 18, 18)
looker = torch_debugger.Debugger()
scores = looker.run(net(images))
print(tuple(scores.shape), scores.requires_grad)
print(torch.equal(scores, net(images)))
