"""A small GAN: each half clears what the other half's backward has left in it."""
import torch
from torch import nn

torch.manual_seed(0)
generator = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
critic = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
opt_g = torch.optim.Adam(generator.parameters(), lr=1e-3, betas=(0.5, 0.9))
opt_d = torch.optim.Adam(critic.parameters(), lr=1e-3, betas=(0.5, 0.9))
bce = nn.BCEWithLogitsLoss()
ones, zeros = torch.ones(64, 1), torch.zeros(64, 1)

for step in range(200):
    angle = torch.rand(64) * 6.283
    real = torch.stack((angle.cos(), angle.sin()), dim=1)
    fake = generator(torch.randn(64, 4))

    loss_d = bce(critic(real), ones) + bce(critic(fake.detach()), zeros)
    loss_d.backward()
    opt_g.zero_grad()
    opt_d.step()

    loss_g = bce(critic(fake), ones)
    loss_g.backward()
    opt_d.zero_grad()
    opt_g.step()
    opt_g.zero_grad()
print(f"critic {loss_d.item():.3f} generator {loss_g.item():.3f}")
