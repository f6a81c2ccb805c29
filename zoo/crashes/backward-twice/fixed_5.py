"""A generator and a critic on two-dimensional points."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
generator = nn.Sequential(nn.Linear(3, 24), nn.ReLU(), nn.Linear(24, 2))
critic = nn.Sequential(nn.Linear(2, 24), nn.LeakyReLU(0.2), nn.Linear(24, 1))
opt_g = torch.optim.Adam(generator.parameters(), lr=1e-3)
opt_c = torch.optim.Adam(critic.parameters(), lr=1e-3)

for step in range(120):
    real = torch.randn(64, 2) * 0.2 + torch.tensor([1.0, -1.0])
    fake = generator(torch.randn(64, 3))

    loss_c = F.softplus(-critic(real)).mean() + F.softplus(critic(fake.detach())).mean()
    opt_c.zero_grad()
    loss_c.backward()
    opt_c.step()

    loss_g = F.softplus(-critic(fake)).mean()
    opt_g.zero_grad()
    loss_g.backward()
    opt_g.step()
    if step % 20 == 0:
        print(f"step {step} critic {loss_c.item():.3f} generator {loss_g.item():.3f}")
