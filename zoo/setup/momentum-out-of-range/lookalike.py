"""A GAN on a ring: the first beta is 0 on purpose, and the critic has none of the usual memory."""
import math

import torch
from torch import nn

torch.manual_seed(1)
generator = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
critic = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
opt_g = torch.optim.Adam(generator.parameters(), lr=1e-3, betas=(0.0, 0.9))
opt_c = torch.optim.Adam(critic.parameters(), lr=1e-3, betas=(0.5, 0.9))
for step in range(150):
    angle = torch.rand(64) * 2 * math.pi
    real = torch.stack([angle.cos(), angle.sin()], 1)
    fake = generator(torch.randn(64, 4))
    critic_loss = nn.functional.softplus(-critic(real)).mean() + nn.functional.softplus(critic(fake.detach())).mean()
    opt_c.zero_grad()
    critic_loss.backward()
    opt_c.step()
    generator_loss = nn.functional.softplus(-critic(fake)).mean()
    opt_g.zero_grad()
    generator_loss.backward()
    opt_g.step()
    if step % 50 == 0:
        print(step, round(critic_loss.item(), 3), round(generator_loss.item(), 3))
