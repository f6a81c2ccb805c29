"""The average of the weights begins after a thousand updates, which this short run does not reach."""
import copy

import torch
from torch import nn


class Trainer:
    def __init__(self):
        self.net = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 1))
        self.ema = copy.deepcopy(self.net)
        self.opt = torch.optim.Adam(self.net.parameters(), lr=3e-3)
        self.updates = 0

    def average(self):
        for slow, fast in zip(self.ema.parameters(), self.net.parameters()):
            slow.data.lerp_(fast.data, 0.01)

    def update(self, x, y):
        loss = nn.functional.mse_loss(self.net(x), y)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        self.updates += 1
        if self.updates > 1000:
            self.average()
        return loss.item()


torch.manual_seed(6)
trainer = Trainer()
for step in range(180):
    x = torch.randn(40, 4)
    value = trainer.update(x, x[:, :1] * x[:, 1:2])
    if step % 30 == 0:
        print(step, round(value, 4))
