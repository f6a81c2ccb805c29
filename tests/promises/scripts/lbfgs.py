"""A fit by LBFGS, which calls the closure several times a step."""

import torch
from fingerprint import STEPS, finish, start
from torch import nn


class Wave(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(1, 10), nn.Linear(10, 1)])

    def forward(self, x):
        return self.layers[1](torch.tanh(self.layers[0](x)))


def main():
    start()
    wave = Wave().double()
    x = torch.linspace(-3, 3, 50, dtype=torch.float64).unsqueeze(1)
    optimizer = torch.optim.LBFGS(wave.parameters(), lr=0.5, max_iter=5, line_search_fn="strong_wolfe")
    losses = []

    def closure():
        optimizer.zero_grad()
        loss = ((wave(x) - torch.sin(x)) ** 2).mean()
        loss.backward()
        losses.append(loss.item())
        return loss

    for _ in range(STEPS):
        optimizer.step(closure)
    finish([wave], [optimizer], [wave(x)], losses)


main()
