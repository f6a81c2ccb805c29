"""A critic with clipped weights and a generator on a mixture of two gaussians."""
import torch
from torch import nn

torch.manual_seed(0)
gen = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
critic = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
ema = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
ema.load_state_dict(gen.state_dict())
og = torch.optim.RMSprop(gen.parameters(), lr=5e-4)
oc = torch.optim.RMSprop(critic.parameters(), lr=5e-4)
for step in range(60):
    for _ in range(3):
        real = torch.randn(64, 2) * 0.3 + torch.randint(0, 2, (64, 1)) * 2
        fake = gen(torch.randn(64, 4)).detach()
        loss_c = critic(fake).mean() - critic(real).mean()
        oc.zero_grad()
        loss_c.backward()
        oc.step()
        for p in critic.parameters():
            p.data.clamp_(-0.05, 0.05)
    loss_g = -critic(gen(torch.randn(64, 4))).mean()
    for a, b in zip(ema.parameters(), gen.parameters()):
        a.data.mul_(0.99).add_(b.data, alpha=0.01)
    og.zero_grad()
    loss_g.backward()
    og.step()
print(loss_c.item())
