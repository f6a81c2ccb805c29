"""GAN on a ring of eight Gaussians; the discriminator is frozen while the generator learns."""
import math

import torch
from torch import nn
import torch.nn.functional as F


def ring(n):
    k = torch.randint(0, 8, (n,)).float() * (2 * math.pi / 8)
    return 2 * torch.stack([k.cos(), k.sin()], 1) + 0.1 * torch.randn(n, 2)


def mlp(a, b, width=64):
    return nn.Sequential(nn.Linear(a, width), nn.LeakyReLU(0.2), nn.Linear(width, width), nn.LeakyReLU(0.2),
                         nn.Linear(width, b))


def set_trainable(net, flag):
    for p in net.parameters():
        p.requires_grad_(flag)


def main(steps=700, batch=64, zdim=8):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    G, D = mlp(zdim, 2), mlp(2, 1)
    opt_g = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.5, 0.99))
    opt_d = torch.optim.Adam(D.parameters(), lr=1e-3, betas=(0.5, 0.99))
    for step in range(steps):
        set_trainable(D, True)
        real = ring(batch)
        with torch.no_grad():
            fake = G(torch.randn(batch, zdim))
        d_loss = F.softplus(-D(real)).mean() + F.softplus(D(fake)).mean()
        opt_d.zero_grad()
        d_loss.backward()
        opt_d.step()

        set_trainable(D, False)
        g_loss = F.softplus(-D(G(torch.randn(batch, zdim)))).mean()
        opt_g.zero_grad()
        g_loss.backward()
        opt_g.step()

        if step % 100 == 99:
            with torch.no_grad():
                pts = G(torch.randn(500, zdim))
            print(f"step {step + 1} d {d_loss.item():.3f} g {g_loss.item():.3f} "
                  f"mean radius {pts.norm(dim=1).mean().item():.2f}")


if __name__ == "__main__":
    main()
