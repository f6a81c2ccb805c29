"""A variational autoencoder of noisy sine waves."""
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class VAE(nn.Module):
    def __init__(self, points=32, latent=4):
        super().__init__()
        self.encode = nn.Sequential(nn.Linear(points, 48), nn.Tanh())
        self.mu = nn.Linear(48, latent)
        self.logvar = nn.Linear(48, latent)
        self.decode = nn.Sequential(nn.Linear(latent, 48), nn.Tanh(), nn.Linear(48, points))

    def forward(self, wave):
        hidden = self.encode(wave)
        mu, logvar = self.mu(hidden), self.logvar(hidden)
        z = mu + torch.randn_like(mu) * torch.exp(0.5 * logvar)
        return self.decode(z), mu, logvar


def vae_loss(rebuilt, wave, mu, logvar):
    reconstruction = F.mse_loss(rebuilt, wave, reduction="sum") / len(wave)
    divergence = 0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp()) / len(wave)
    return reconstruction + divergence


def waves(n):
    t = torch.linspace(0, 6.28, 32)
    phase, speed = 6.28 * torch.rand(n, 1), 1 + torch.rand(n, 1)
    return torch.sin(speed * t + phase) + 0.05 * torch.randn(n, 32)


vae = VAE()
optimizer = torch.optim.Adam(vae.parameters(), lr=3e-3)
for step in range(250):
    wave = waves(64)
    rebuilt, mu, logvar = vae(wave)
    loss = vae_loss(rebuilt, wave, mu, logvar)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(f"step {step:3d} loss {loss.item():.3f}")
