"""Variational autoencoder on points of a curved surface."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class VAE(nn.Module):
    def __init__(self, size=20, hidden=48, latent=4):
        super().__init__()
        self.enter = nn.Linear(size, hidden)
        self.mean = nn.Linear(hidden, latent)
        self.logvar = nn.Linear(hidden, latent)
        self.decode = nn.Sequential(nn.Linear(latent, hidden), nn.ReLU(), nn.Linear(hidden, size))

    def forward(self, x):
        hidden = torch.relu(self.enter(x))
        mu, logvar = self.mean(hidden), self.logvar(hidden)
        z = mu + torch.randn_like(mu) * torch.exp(0.5 * logvar)
        return self.decode(z), mu, logvar


torch.manual_seed(0)
lift = torch.randn(4, 20)
vae = VAE()
optimizer = torch.optim.Adam(vae.parameters(), lr=3e-3)
for step in range(400):
    x = torch.sin(torch.randn(64, 4) @ lift)
    output, mu, logvar = vae(x)
    recon = F.mse_loss(output, x)
    kl = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp()) / len(x)
    loss = recon + 0.003 * kl
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 80 == 0:
        print(f"{step:3d} recon {recon.item():.4f} kl {kl.item():.5f}")
