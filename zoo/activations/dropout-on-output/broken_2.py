"""Regress a wave with a small network; dropout sits where the value comes out."""
import math

import torch
from torch import nn


class WaveNet(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.fc1 = nn.Linear(1, width)
        self.fc2 = nn.Linear(width, width)
        self.fc3 = nn.Linear(width, 1)
        self.drop = nn.Dropout(p=0.2)

    def forward(self, t):
        hidden = torch.tanh(self.fc1(t))
        hidden = torch.tanh(self.fc2(hidden))
        return self.drop(self.fc3(hidden))


def run(epochs=250):
    torch.manual_seed(4)
    net, loss_fn = WaveNet(), nn.MSELoss()
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    t = torch.linspace(-1, 1, 128).unsqueeze(1)
    target = 2 + torch.sin(math.pi * t)
    for epoch in range(epochs):
        loss = loss_fn(net(t), target)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(f"loss after {epochs} epochs: {loss.item():.4f}")


if __name__ == "__main__":
    run()
