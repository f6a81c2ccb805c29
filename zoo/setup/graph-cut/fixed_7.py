"""Learn a small alphabet of codes for short waves: an encoder, a table of codes, a decoder."""
import math

import torch
from torch import nn
from torch.nn import functional as F


class Codes(nn.Module):
    def __init__(self, count=32, width=6):
        super().__init__()
        self.table = nn.Embedding(count, width)

    def forward(self, z):
        far = torch.cdist(z, self.table.weight)
        nearest = far.argmin(dim=-1)
        chosen = self.table(nearest)
        pull = F.mse_loss(chosen, z.detach()) + 0.25 * F.mse_loss(z, chosen.detach())
        return z + (chosen - z).detach(), pull


class Waves(nn.Module):
    def __init__(self, width=6):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(48, 64), nn.ReLU(), nn.Linear(64, width))
        self.codes = Codes(width=width)
        self.decoder = nn.Sequential(nn.Linear(width, 64), nn.ReLU(), nn.Linear(64, 48))

    def forward(self, x):
        chosen, pull = self.codes(self.encoder(x))
        return self.decoder(chosen), pull


def draw(count):
    time = torch.linspace(0, 1, 48)
    shift, speed = torch.rand(count, 1), torch.randint(1, 4, (count, 1))
    return torch.sin(2 * math.pi * (speed * time + shift)) + 0.05 * torch.randn(count, 48)


torch.manual_seed(0)
model = Waves()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for step in range(1, 201):
    waves = draw(64)
    made, pull = model(waves)
    loss = F.mse_loss(made, waves) + pull
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(f"step {step}: {loss.item():.4f}")
