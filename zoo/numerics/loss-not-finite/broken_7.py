"""A GAN on small grey images."""
import torch
from torch import nn

torch.manual_seed(11)
SIDE = 8


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, SIDE * SIDE), nn.Tanh())

    def forward(self, z):
        return (self.net(z) + 1) * 127.5


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(SIDE * SIDE, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1), nn.Sigmoid())

    def forward(self, img):
        return self.net(img)


G, D = Generator(), Discriminator()
opt_g = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.5, 0.999))
opt_d = torch.optim.Adam(D.parameters(), lr=1e-3, betas=(0.5, 0.999))
ramp = torch.linspace(0, 255, SIDE * SIDE)


def real_batch(n):
    return (ramp + 20 * torch.randn(n, SIDE * SIDE)).clamp(0, 255)


for it in range(100):
    real = real_batch(64)
    fake = G(torch.randn(64, 16))

    d_loss = -(torch.log(D(real)) + torch.log(1 - D(fake.detach()))).mean()
    opt_d.zero_grad()
    d_loss.backward()
    opt_d.step()

    g_loss = -torch.log(D(fake)).mean()
    opt_g.zero_grad()
    g_loss.backward()
    opt_g.step()
    if it % 10 == 0:
        print(f"{it:4d} D {d_loss.item():.4f} G {g_loss.item():.4f}")
