"""A GAN in one module: the discriminator is frozen while the generator learns."""
import torch
from torch import nn


class GAN(nn.Module):
    def __init__(self):
        super().__init__()
        self.generator = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 2))
        self.discriminator = nn.Sequential(
            nn.Linear(2, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1)
        )

    def forward(self, z):
        return self.discriminator(self.generator(z))


torch.manual_seed(0)
gan = GAN()
og = torch.optim.Adam(gan.generator.parameters(), lr=1e-3, betas=(0.5, 0.9))
od = torch.optim.Adam(gan.discriminator.parameters(), lr=1e-3, betas=(0.5, 0.9))
bce = nn.functional.binary_cross_entropy_with_logits
for step in range(100):
    gan.discriminator.requires_grad_(False)
    verdict = gan(torch.randn(64, 8))
    loss_g = bce(verdict, torch.ones(64, 1))
    og.zero_grad()
    loss_g.backward()
    og.step()
    gan.discriminator.requires_grad_(True)
    real = 0.3 * torch.randn(64, 2) + torch.randint(0, 2, (64, 1)) * 2
    fake = gan.generator(torch.randn(64, 8)).detach()
    loss_d = bce(gan.discriminator(real), torch.ones(64, 1)) + bce(gan.discriminator(fake), torch.zeros(64, 1))
    od.zero_grad()
    loss_d.backward()
    od.step()
print(loss_g.item(), loss_d.item())
