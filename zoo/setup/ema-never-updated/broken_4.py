"""A loop with callbacks; the score that is shown belongs to a smoothed copy of the network."""
import copy

import torch
from torch import nn


class Smoothed:
    def __init__(self, net, decay=0.95):
        self.decay = decay
        self.network = copy.deepcopy(net).requires_grad_(False)

    @torch.no_grad()
    def blend(self, net):
        for slow, fast in zip(self.network.parameters(), net.parameters()):
            slow.lerp_(fast, 1 - self.decay)


class EMA:
    def __init__(self, shadow):
        self.shadow = shadow

    def after_batch(self, net):
        self.shadow.blend(net)


class Score:
    def __init__(self, shadow, x, y):
        self.shadow, self.x, self.y = shadow, x, y

    def epoch_done(self, net):
        with torch.no_grad():
            print(nn.functional.mse_loss(self.shadow.network(self.x), self.y).item())


def fit(net, optimizer, batches, callbacks, epochs):
    def emit(event):
        for callback in callbacks:
            getattr(callback, event, lambda net: None)(net)

    for _ in range(epochs):
        for x, y in batches:
            loss = nn.functional.mse_loss(net(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            emit("batch_done")
        emit("epoch_done")


torch.manual_seed(33)
x = torch.randn(800, 6)
y = torch.tanh(x[:, :1] * x[:, 1:2]) + 0.3 * torch.randn(800, 1)
net = nn.Sequential(nn.Linear(6, 48), nn.GELU(), nn.Linear(48, 1))
shadow = Smoothed(net)
fit(net, torch.optim.Adam(net.parameters(), 3e-3), list(zip(x.split(40), y.split(40))),
    [EMA(shadow), Score(shadow, x, y)], epochs=8)
