"""A variational autoencoder with summed losses: gradients are huge in absolute terms, and fine."""
import torch
from torch import nn


class VAE(nn.Module):
    def __init__(self, size=40, hidden=32, latent=4):
        super().__init__()
        self.encode = nn.Sequential(nn.Linear(size, hidden), nn.ReLU(), nn.Linear(hidden, 2 * latent))
        self.decode = nn.Sequential(nn.Linear(latent, hidden), nn.ReLU(), nn.Linear(hidden, size))

    def forward(self, x):
        mean, logvar = self.encode(x).chunk(2, dim=1)
        z = mean + torch.exp(0.5 * logvar) * torch.randn_like(mean)
        return self.decode(z), mean, logvar


torch.manual_seed(0)
basis = 3 * torch.randn(4, 40)
vae = VAE()
optimizer = torch.optim.Adam(vae.parameters(), lr=2e-3)
for step in range(300):
    x = torch.randn(128, 4) @ basis
    output, mean, logvar = vae(x)
    recon = ((output - x) ** 2).sum()
    kl = -0.5 * (1 + logvar - mean**2 - logvar.exp()).sum()
    loss = recon + kl
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
