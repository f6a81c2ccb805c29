"""A stack of residual layers, measured on the meta device before it is trained."""
import torch
import torch.nn as nn


class Stack(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.stem = nn.Linear(width, width)
        self.layers = [nn.Linear(width, width) for _ in range(depth)]
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        x = self.stem(x)
        for layer in self.layers:
            x = x + torch.relu(layer(x))
        return self.norm(x)


net = Stack(64, 4)
net.to("meta")
out = net(torch.empty(2048, 64, device="meta"))
print("out:", tuple(out.shape), "weights:", sum(p.numel() for p in net.parameters()))
