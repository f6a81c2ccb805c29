"""VAE on points of a curved surface."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class VAE(nn.Module):
    def __init__(self, size=20, hidden=48, latent=4):
        super().__init__()
        self.enter = nn.Linear(size, hidden)
        self.mu = nn.Linear(hidden, latent)
        self.logvar = nn.Linear(hidden, latent)
        self.decode = nn.Sequential(nn.Linear(latent, hidden), nn.ReLU(), nn.Linear(hidden, size))

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        eps = torch.rand_like(std)
        return mu + eps * std

    def forward(self, x):
        hidden = torch.relu(self.enter(x))
        mu, logvar = self.mu(hidden), self.logvar(hidden)
        return self.decode(self.reparameterize(mu, logvar)), mu, logvar


torch.manual_seed(0)
lift = torch.randn(4, 20)
vae = VAE()
optimizer = torch.optim.Adam(vae.parameters(), lr=3e-3)
for step in range(150):
    x = torch.sin(torch.randn(64, 4) @ lift)
    output, mu, logvar = vae(x)
    recon = 5 * F.mse_loss(output, x, reduction="sum") / len(x)
    kl = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp()) / len(x)
    loss = recon + kl
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(f"{step:3d} recon {recon.item():.3f} kl {kl.item():.3f}")
