"""GAN on points around a circle; the two learning rates come from different papers."""
import math

import torch
import torch.nn as nn

torch.manual_seed(0)
netG = nn.Sequential(nn.Linear(8, 32), nn.LeakyReLU(0.2), nn.Linear(32, 32), nn.LeakyReLU(0.2), nn.Linear(32, 2))
netD = nn.Sequential(nn.Linear(2, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1))
criterion = nn.BCEWithLogitsLoss()
optimizerD = torch.optim.Adam(netD.parameters(), lr=1e-2, betas=(0.5, 0.999))
optimizerG = torch.optim.Adam(netG.parameters(), lr=1e-5, betas=(0.5, 0.999))
ones, zeros = torch.ones(64, 1), torch.zeros(64, 1)

for step in range(160):
    angle = 2 * math.pi * torch.rand(64, 1)
    real = 2 * torch.cat((angle.cos(), angle.sin()), dim=1)
    fake = netG(torch.randn(64, 8))

    optimizerD.zero_grad()
    loss_d = criterion(netD(real), ones) + criterion(netD(fake.detach()), zeros)
    loss_d.backward()
    optimizerD.step()

    optimizerG.zero_grad()
    loss_g = criterion(netD(fake), ones)
    loss_g.backward()
    optimizerG.step()
    if step % 40 == 0:
        print(f"{step:3d} D {loss_d.item():.4f} G {loss_g.item():.4f}")
