"""Draws the filters of a first convolution: by hand, and by our call."""

import matplotlib.pyplot as plt
import torch
from torch import nn

from torch_debugger import pictures


def draw_filters(net, path, most=9):
    weights = dict(net.named_modules())[path].weight.data.cpu()
    weights = (weights - weights.min()) / (weights.max() - weights.min())
    figure, places = plt.subplots(3, 3, figsize=(4, 4))
    for number, place in enumerate(places.flat):
        place.axis("off")
        if number < min(most, len(weights)):
            place.imshow(weights[number].permute(1, 2, 0))
    figure.savefig("by_hand.png")
    plt.show()


class Seer(nn.Module):
    def __init__(self):
        super().__init__()
        self.entry = nn.Conv2d(3, 8, 5)

    def forward(self, images):
        return self.entry(images)


torch.manual_seed(41)
net = Seer()
draw_filters(net, "entry")
pictures.filters(net, "entry").save("filters.png")
