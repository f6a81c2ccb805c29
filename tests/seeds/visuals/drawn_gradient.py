"""The gradient of a weight drawn where it has just been added up, and our pictures of gradients."""

import matplotlib.pyplot as plt
import torch
from torch import nn

import torch_debugger
from torch_debugger import pictures


def draw(weight):
    plt.imshow(weight.grad[0, 0].detach().numpy())
    plt.savefig("by_hand.png")


torch.manual_seed(71)
net = nn.Sequential(nn.Conv2d(2, 3, 4), nn.ReLU(), nn.Flatten(), nn.Linear(108, 2))
net[0].weight.register_post_accumulate_grad_hook(draw)
images = torch.rand(1, 2, 9, 9)
print(torch_debugger.gradients(net, images, loss=lambda scores: scores.sum()))
net(images).sum().backward()
pictures.gradient_flow(net).save("flow.png")
