"""A backward hook that draws a weight's gradient before there is one."""

import matplotlib.pyplot as plt
import torch
from torch import nn


def draw(module, grad_input, grad_output):
    slopes = module.weight.grad
    plt.imshow(slopes[0].detach().numpy())
    plt.show()


torch.manual_seed(71)
layer = nn.Conv2d(2, 3, 4)
layer.register_backward_hook(draw)
layer(torch.rand(1, 2, 9, 9)).sum().backward()
