"""A GAN in one module, whose parts take turns of 40 steps; the one that waits is frozen."""
import torch
from torch import nn


class GAN(nn.Module):
    def __init__(self):
        super().__init__()
        self.generator = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 2))
        self.discriminator = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, z):
        return self.discriminator(self.generator(z))


def switch(module, on):
    for p in module.parameters():
        p.requires_grad = on


torch.manual_seed(0)
gan = GAN()
switch(gan.discriminator, False)
optimizer = torch.optim.Adam(gan.parameters(), lr=1e-3, betas=(0.5, 0.9))
bce = nn.functional.binary_cross_entropy_with_logits
for step in range(200):
    generates = step // 40 % 2 == 0
    switch(gan.generator, generates)
    switch(gan.discriminator, not generates)
    verdict = gan(torch.randn(64, 8))
    if generates:
        loss = bce(verdict, torch.ones(64, 1))
    else:
        real = 0.3 * torch.randn(64, 2) + torch.randint(0, 2, (64, 1)) * 2
        loss = bce(verdict, torch.zeros(64, 1)) + bce(gan.discriminator(real), torch.ones(64, 1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
