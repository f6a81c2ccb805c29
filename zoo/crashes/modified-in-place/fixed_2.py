"""A tiny GAN that learns a ring of points."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def sample_ring(n):
    angle = 2 * math.pi * torch.rand(n)
    return torch.stack([angle.cos(), angle.sin()], dim=1) + 0.05 * torch.randn(n, 2)


netG = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
netD = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
optG = torch.optim.Adam(netG.parameters(), lr=1e-3)
optD = torch.optim.Adam(netD.parameters(), lr=1e-3)

for step in range(120):
    real = sample_ring(64)
    fake = netG(torch.randn(64, 4))
    real_score = netD(real)
    fake_score = netD(fake.detach())
    lossD = F.softplus(-real_score).mean() + F.softplus(fake_score).mean()

    optD.zero_grad()
    lossD.backward()
    optD.step()

    lossG = F.softplus(-netD(fake)).mean()
    optG.zero_grad()
    lossG.backward()
    optG.step()
    if step % 20 == 0:
        print(f"step {step} D {lossD.item():.3f} G {lossG.item():.3f}")
