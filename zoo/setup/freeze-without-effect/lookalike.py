"""A GAN that marks its critic while the generator learns; each optimizer has only its own half."""
import torch
from torch import nn

torch.manual_seed(7)
generator = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
critic = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
opt_g = torch.optim.Adam(generator.parameters(), lr=1e-3)
opt_c = torch.optim.Adam(critic.parameters(), lr=1e-3)
bce = nn.BCEWithLogitsLoss()
for step in range(150):
    angle = 6.283 * torch.rand(64)
    real = torch.stack((angle.cos(), angle.sin()), dim=1)
    fake = generator(torch.randn(64, 4))

    critic.requires_grad = True
    loss_c = bce(critic(real), torch.ones(64, 1)) + bce(critic(fake.detach()), torch.zeros(64, 1))
    opt_c.zero_grad()
    loss_c.backward()
    opt_c.step()

    critic.requires_grad = False
    loss_g = bce(critic(fake), torch.ones(64, 1))
    opt_g.zero_grad()
    loss_g.backward()
    opt_g.step()
print(loss_c.item(), loss_g.item())
