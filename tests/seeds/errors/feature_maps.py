"""Draws what a convolution makes of one image: by a hook, and by our call."""

import matplotlib.pyplot as plt
import torch
from torch import nn

from torch_debugger import pictures


def draw_maps(net, image, path):
    caught = {}
    layer = dict(net.named_modules())[path]
    handle = layer.register_forward_hook(lambda module, inputs, output: caught.update(maps=output.detach()))
    net.eval()
    with torch.no_grad():
        net(image.unsqueeze(0))
    handle.remove()
    figure, places = plt.subplots(2, 3, figsize=(5, 4))
    for place, values in zip(places.flat, caught["maps"][0], strict=False):
        place.imshow(values, cmap="viridis")
        place.axis("off")
    figure.savefig("by_hand.png")
    plt.show()


torch.manual_seed(42)
net = nn.Sequential()
net.add_module("entry", nn.Conv2d(1, 6, 3))
net.add_module("pool", nn.MaxPool2d(2))
image = torch.rand(1, 14, 14)
draw_maps(net, image, "entry")
pictures.feature_maps(net, image, "entry").save("maps.png")
