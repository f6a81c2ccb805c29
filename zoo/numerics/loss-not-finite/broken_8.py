"""Variational autoencoder on synthetic blobs."""
import torch
import torch.nn.functional as F
from torch import nn


class VAE(nn.Module):
    def __init__(self, d=64, z=8):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(d, 128), nn.ReLU())
        self.mu = nn.Linear(128, z)
        self.logvar = nn.Linear(128, z)
        self.dec = nn.Sequential(nn.Linear(z, 128), nn.ReLU(), nn.Linear(128, d))

    def reparam(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        return mu + std * torch.randn_like(std)

    def forward(self, x):
        h = self.enc(x)
        mu, logvar = self.mu(h), self.logvar(h)
        return self.dec(self.reparam(mu, logvar)), mu, logvar


def elbo(recon, x, mu, logvar):
    rec = F.mse_loss(recon, x, reduction="sum") / len(x)
    kl = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp()) / len(x)
    return rec + kl


torch.manual_seed(1)
centres = torch.rand(5, 64) * 30
x_all = centres[torch.randint(0, 5, (1024,))] + torch.randn(1024, 64)
vae = VAE()
opt = torch.optim.Adam(vae.parameters(), lr=0.5)
sched = torch.optim.lr_scheduler.StepLR(opt, 50, gamma=0.5)

for step in range(60):
    xb = x_all[torch.randint(0, 1024, (64,))]
    recon, mu, logvar = vae(xb)
    loss = elbo(recon, xb, mu, logvar)
    opt.zero_grad()
    loss.backward()
    opt.step()
    sched.step()
    if step % 5 == 0:
        print(f"step {step} loss {loss.item():.3f} lr {sched.get_last_lr()[0]}")
