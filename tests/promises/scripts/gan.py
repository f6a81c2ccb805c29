"""Two networks with an optimizer each, the critic stepping more often than the generator."""

import torch
from fingerprint import STEPS, finish, start
from torch import nn

start()
generator = nn.Sequential(nn.Linear(8, 32), nn.BatchNorm1d(32), nn.LeakyReLU(0.2), nn.Linear(32, 16), nn.Tanh())
critic = nn.Sequential(nn.utils.spectral_norm(nn.Linear(16, 32)), nn.LeakyReLU(0.2), nn.Linear(32, 1))
generator_optimizer = torch.optim.Adam(generator.parameters(), lr=1e-3, betas=(0.5, 0.999))
critic_optimizer = torch.optim.Adam(critic.parameters(), lr=1e-3, betas=(0.5, 0.999))
losses = []
for step in range(STEPS):
    real, fake = torch.randn(16, 16), generator(torch.randn(16, 8))
    mixed = (0.5 * real + 0.5 * fake.detach()).requires_grad_(True)
    slope = torch.autograd.grad(critic(mixed).sum(), mixed, create_graph=True)[0]
    critic_loss = critic(fake.detach()).mean() - critic(real).mean() + ((slope.norm(dim=1) - 1) ** 2).mean()
    critic_optimizer.zero_grad()
    critic_loss.backward()
    critic_optimizer.step()
    losses.append(critic_loss.item())
    if step % 2:
        generator_loss = -critic(fake).mean()
        generator_optimizer.zero_grad()
        generator_loss.backward()
        generator_optimizer.step()
        losses.append(generator_loss.item())
finish([generator, critic], [generator_optimizer, critic_optimizer], [fake], losses)
