"""Mixture density network whose blocks are recomputed in backward with torch.utils.checkpoint."""
import math

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class MixtureDensity(nn.Module):
    def __init__(self, components=4, width=32, depth=3):
        super().__init__()
        self.stem = nn.Linear(1, width)
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.LayerNorm(width), nn.Linear(width, width), nn.SiLU()) for _ in range(depth)
        )
        self.out = nn.Linear(width, 3 * components)

    def forward(self, x):
        h = torch.tanh(self.stem(x))
        for block in self.blocks:
            h = h + checkpoint(block, h, use_reentrant=False)
        weight, mean, log_scale = self.out(h).chunk(3, dim=1)
        return weight.log_softmax(dim=1), mean, log_scale.clamp(-3, 3)

    def nll(self, x, y):
        log_weight, mean, log_scale = self(x)
        log_density = -0.5 * ((y - mean) / log_scale.exp()) ** 2 - log_scale - 0.5 * math.log(2 * math.pi)
        return -torch.logsumexp(log_weight + log_density, dim=1).mean()


torch.manual_seed(33)
model = MixtureDensity()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(121):
    y = torch.rand(128, 1) * 2 - 1
    x = y + 0.6 * torch.sin(2 * math.pi * y) + 0.05 * torch.randn(128, 1)
    loss = model.nll(x, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print("step %d nll %.4f" % (step, loss.item()))
