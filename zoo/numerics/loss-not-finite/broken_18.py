"""WGAN with gradient penalty, one-dimensional data."""
import torch
from torch import nn

torch.manual_seed(2)

gen = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 1))
critic = nn.Sequential(nn.Linear(1, 4), nn.ReLU(), nn.Linear(4, 1))
opt_g = torch.optim.Adam(gen.parameters(), lr=1e-2, betas=(0.0, 0.9))
opt_c = torch.optim.Adam(critic.parameters(), lr=1e-2, betas=(0.0, 0.9))


def gradient_penalty(real, fake):
    alpha = torch.rand(real.size(0), 1)
    mix = (alpha * real + (1 - alpha) * fake).requires_grad_(True)
    score = critic(mix)
    (grad,) = torch.autograd.grad(score.sum(), mix, create_graph=True)
    length = torch.sqrt((grad ** 2).sum(dim=1))
    return ((length - 1) ** 2).mean()


for it in range(40):
    for _ in range(2):
        real = 3 * torch.randn(32, 1) - 1
        fake = gen(torch.randn(32, 2)).detach()
        gp = gradient_penalty(real, fake)
        c_loss = critic(fake).mean() - critic(real).mean() + 10 * gp
        opt_c.zero_grad()
        c_loss.backward()
        opt_c.step()
    g_loss = -critic(gen(torch.randn(32, 2))).mean()
    opt_g.zero_grad()
    g_loss.backward()
    opt_g.step()
    if it % 10 == 0:
        print(it, c_loss.item(), g_loss.item())
