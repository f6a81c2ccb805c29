# Autoencoder of smooth curves; encoder and decoder have an optimizer each.
import math

import torch
from torch import nn


class Half(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(inputs, 48), nn.ELU(), nn.Linear(48, outputs))

    def forward(self, x):
        return self.net(x)


def curves(n, points=40):
    t = torch.linspace(0, 2 * math.pi, points)
    phase, speed = 6 * torch.rand(n, 1), 1 + torch.rand(n, 1)
    return torch.sin(speed * t + phase)


torch.manual_seed(13)
encoder, decoder = Half(40, 4), Half(4, 40)
opt_encoder = torch.optim.Adam(encoder.parameters(), lr=2e-3)
opt_decoder = torch.optim.Adam(decoder.parameters(), lr=2e-3)

for step in range(250):
    batch = curves(64)
    opt_encoder.zero_grad()
    opt_decoder.zero_grad()
    loss = nn.functional.mse_loss(decoder(encoder(batch)), batch)
    loss.backward()
    opt_encoder.step()
    opt_decoder.step()
    if step % 50 == 0:
        print(step, f"{loss.item():.4f}")
