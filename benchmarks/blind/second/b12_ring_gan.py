"""2-D GAN: eight Gaussians on a ring."""
import math
import torch
import torch.nn as nn


class Generator(nn.Module):
    def __init__(self, nz=4, nh=64):
        super().__init__()
        self.main = nn.Sequential(nn.Linear(nz, nh), nn.ReLU(), nn.Linear(nh, nh), nn.ReLU(), nn.Linear(nh, 2))

    def forward(self, z):
        return self.main(z)


class Discriminator(nn.Module):
    def __init__(self, nh=64):
        super().__init__()
        self.main = nn.Sequential(nn.Linear(2, nh), nn.LeakyReLU(0.2), nn.Linear(nh, nh), nn.LeakyReLU(0.2), nn.Linear(nh, 1))

    def forward(self, x):
        return self.main(x).squeeze(1)


def real_batch(n):
    k = torch.randint(0, 8, (n,)).float() * math.pi / 4
    return torch.stack([2 * k.cos(), 2 * k.sin()], 1) + 0.1 * torch.randn(n, 2)


def radius_error(G):
    with torch.no_grad():
        r = G(torch.randn(2000, 4)).norm(dim=1)
    return (r - 2).abs().mean().item()


torch.manual_seed(5)
netG, netD = Generator(), Discriminator()
optG = torch.optim.Adam(netG.parameters(), lr=3e-3, betas=(0.5, 0.99))
optD = torch.optim.Adam(netD.parameters(), lr=3e-3, betas=(0.5, 0.99))
bce = nn.BCEWithLogitsLoss()
n = 128
ones, zeros = torch.ones(n), torch.zeros(n)

for it in range(1, 301):
    # update D
    real = real_batch(n)
    fake = netG(torch.randn(n, 4)).detach()
    optD.zero_grad()
    errD = bce(netD(real), ones) + bce(netD(fake), zeros)
    errD.backward()
    optD.step()

    # update G
    optG.zero_grad()
    errG = bce(netD(fake), ones)
    errG.backward()
    optG.step()

    if it % 50 == 0:
        print(f"[{it}/300] Loss_D: {errD.item():.4f} Loss_G: {errG.item():.4f} radius err: {radius_error(netG):.3f}")
