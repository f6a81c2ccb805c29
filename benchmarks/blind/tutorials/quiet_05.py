"""Wasserstein GAN, the critic's weights are clipped after every update."""
import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(4)


class Generator(nn.Module):
    def __init__(self, z=4):
        super().__init__()
        self.z = z
        self.net = nn.Sequential(nn.Linear(z, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, n):
        return self.net(torch.randn(n, self.z))


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, x):
        return self.net(x)

    @torch.no_grad()
    def clip(self, c):
        for p in self.parameters():
            p.clamp_(-c, c)


def real_samples(n):
    side = (torch.rand(n, 1) > 0.4).float()
    return side * 3.0 + (1 - side) * 1.0 + 0.3 * torch.randn(n, 1)


def distance(a, b):
    return (a.sort(0).values - b.sort(0).values).abs().mean().item()


gen, critic = Generator(), Critic()
gen_opt = torch.optim.RMSprop(gen.parameters(), lr=1e-3)
critic_opt = torch.optim.RMSprop(critic.parameters(), lr=1e-3)
for step in range(300):
    for _ in range(4):
        gap = critic(real_samples(64)).mean() - critic(gen(64).detach()).mean()
        critic_opt.zero_grad()
        (-gap).backward()
        critic_opt.step()
        critic.clip(0.1)
    gen_loss = -critic(gen(64)).mean()
    gen_opt.zero_grad()
    gen_loss.backward()
    gen_opt.step()
    if step % 50 == 49:
        with torch.no_grad():
            w = distance(gen(2000), real_samples(2000))
        print(f"step {step + 1}  critic gap {gap.item():.4f}  earth mover distance {w:.3f}")
