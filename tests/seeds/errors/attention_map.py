"""Draws which word of one language looks at which of the other."""

import matplotlib.pyplot as plt
import torch

from torch_debugger import pictures


def draw_attention(weights, read, written):
    figure = plt.figure(figsize=(5, 4))
    plt.imshow(weights.cpu().numpy(), cmap="viridis")
    plt.xticks(range(len(read)), read)
    plt.yticks(range(len(written)), written)
    plt.colorbar()
    figure.savefig("by_hand.png")
    plt.show()


torch.manual_seed(44)
read, written = ["we", "like", "warm", "bread"], ["wir", "mögen", "warmes", "Brot"]
weights = (torch.eye(4) * 3 + torch.rand(4, 4)).softmax(1)
draw_attention(weights, read, written)
pictures.attention(weights, read, written).save("attention.png")
