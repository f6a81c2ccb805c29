"""WGAN-like game on a spiral; a helper makes the run repeatable."""
import random

import numpy as np
import torch
from torch import nn


def set_seed(seed=1234):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


class Game:
    def __init__(self):
        set_seed()
        self.g = nn.Sequential(nn.Linear(4, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 2))
        self.d = nn.Sequential(nn.Linear(2, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 1))
        self.og = torch.optim.RMSprop(self.g.parameters(), 5e-4)
        self.od = torch.optim.RMSprop(self.d.parameters(), 5e-4)

    def play_epoch(self, batches):
        for _ in range(batches):
            t = torch.rand(32, 1) * 6
            real = torch.cat([t * t.cos(), t * t.sin()], 1) / 4
            fake = self.g(torch.randn(32, 4))
            d_loss = self.d(fake.detach()).mean() - self.d(real).mean()
            self.od.zero_grad()
            d_loss.backward()
            self.od.step()
            for p in self.d.parameters():
                p.data.clamp_(-0.1, 0.1)
            g_loss = -self.d(self.g(torch.randn(32, 4))).mean()
            self.og.zero_grad()
            g_loss.backward()
            self.og.step()
        return d_loss.item(), g_loss.item()


game = Game()
for epoch in range(20):
    d, g = game.play_epoch(8)
    if epoch % 4 == 0:
        print(epoch, d, g)
