# DCGAN-like on 8x8 pictures; two steps of the discriminator for one of the generator.
import torch
import torch.nn.functional as F
from torch import nn


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 32 * 2 * 2)
        self.up = nn.Sequential(nn.ConvTranspose2d(32, 16, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(16, 1, 4, 2, 1))

    def forward(self, z):
        return self.up(self.fc(z).view(-1, 32, 2, 2)).sigmoid()


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(1, 32, 3, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(32, 32, 3, 2, 1), nn.LeakyReLU(0.2), nn.Flatten(), nn.Linear(128, 1))

    def forward(self, x):
        return self.net(x)


def pictures(n):
    col = torch.randint(0, 7, (n,))
    img = torch.zeros(n, 1, 8, 8)
    for i, c in enumerate(col.tolist()):
        img[i, 0, :, c : c + 2] = 1
    return img


torch.manual_seed(0)
gen, disc = Generator(), Discriminator()
opt_g = torch.optim.Adam(gen.parameters(), lr=1e-5)
opt_d = torch.optim.Adam(disc.parameters(), lr=5e-3)
for step in range(120):
    for _ in range(2):
        x = pictures(8)
        fake = gen(torch.randn(8, 8)).detach()
        d = F.binary_cross_entropy_with_logits(disc(x), torch.ones(8, 1)) + F.binary_cross_entropy_with_logits(disc(fake), torch.zeros(8, 1))
        opt_d.zero_grad()
        d.backward()
        opt_d.step()
    g = F.binary_cross_entropy_with_logits(disc(gen(torch.randn(8, 8))), torch.ones(8, 1))
    opt_g.zero_grad()
    g.backward()
    opt_g.step()
    if step % 30 == 0:
        print(step, d.item(), g.item())
