"""GAN on a ring of Gaussians, in the style of the DCGAN tutorial."""
import math

import torch
import torch.nn as nn

torch.manual_seed(999)
nz, batch_size, real_label, fake_label = 8, 64, 1.0, 0.0

netG = nn.Sequential(nn.Linear(nz, 32), nn.LeakyReLU(0.2), nn.Linear(32, 32), nn.LeakyReLU(0.2), nn.Linear(32, 2))
netD = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))

criterion = nn.BCEWithLogitsLoss()
optimizerD = torch.optim.Adam(netD.parameters(), lr=2e-3, betas=(0.5, 0.999))
optimizerG = torch.optim.Adam(netG.parameters(), lr=1e-3, betas=(0.5, 0.999))
fixed_noise = torch.randn(200, nz)


def real_batch():
    angle = torch.randint(0, 8, (batch_size,)) * math.pi / 4
    return torch.stack([angle.cos(), angle.sin()], 1) + 0.05 * torch.randn(batch_size, 2)


for i in range(201):
    # update D: maximise log(D(x)) + log(1 - D(G(z)))
    netD.zero_grad()
    label = torch.full((batch_size,), real_label)
    errD_real = criterion(netD(real_batch()).view(-1), label)
    errD_real.backward()
    fake = netG(torch.randn(batch_size, nz))
    label.fill_(fake_label)
    errD_fake = criterion(netD(fake.detach()).view(-1), label)
    errD_fake.backward()
    optimizerD.step()

    # update G: maximise log(D(G(z)))
    netG.zero_grad()
    label.fill_(real_label)
    errG = criterion(netD(fake).view(-1), label)
    errG.backward()
    optimizerG.step()
    if i % 50 == 0:
        with torch.no_grad():
            radius = netG(fixed_noise).norm(dim=1).mean().item()
        print(f"[{i}/200] Loss_D: {(errD_real + errD_fake).item():.4f} Loss_G: {errG.item():.4f} radius: {radius:.3f}")
