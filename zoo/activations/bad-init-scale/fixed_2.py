"""Approximate a smooth function with a deep tanh network and a hand-chosen initialisation."""
import math

import torch
import torch.nn as nn


class TanhNet(nn.Module):
    def __init__(self, depth=7, width=48):
        super().__init__()
        sizes = [3] + [width] * depth
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(sizes, sizes[1:]))
        self.readout = nn.Linear(width, 1)
        self.reset()

    def reset(self):
        for layer in self.layers:
            nn.init.xavier_normal_(layer.weight)
            nn.init.zeros_(layer.bias)

    def forward(self, x):
        for layer in self.layers:
            x = torch.tanh(layer(x))
        return self.readout(x).squeeze(-1)


def wave(x):
    return torch.sin(math.pi * x[:, 0]) + x[:, 1] * x[:, 2]


def main():
    torch.manual_seed(9)
    net = TanhNet()
    opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    for it in range(1, 301):
        x = torch.rand(64, 3) * 2 - 1
        loss = (net(x) - wave(x)).square().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        if it % 50 == 0:
            print("iter", it, "loss", round(loss.item(), 5))


if __name__ == "__main__":
    main()
