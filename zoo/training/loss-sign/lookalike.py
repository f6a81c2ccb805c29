"""The evidence lower bound as a reward: everything in it is negative, and so is its sign in the loss."""
import torch
import torch.nn.functional as F
from torch import nn


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(10, 6)
        self.decoder = nn.Sequential(nn.Linear(3, 24), nn.Tanh(), nn.Linear(24, 10))

    def elbo(self, x):
        mu, logvar = self.encoder(x).chunk(2, dim=1)
        z = mu + torch.randn_like(mu) * (logvar / 2).exp()
        likelihood = -F.mse_loss(self.decoder(z), x, reduction="none").sum(1)
        negative_kl = 0.5 * (1 + logvar - mu**2 - logvar.exp()).sum(1)
        return (likelihood + negative_kl).mean()


torch.manual_seed(3)
vae = VAE()
mixing = torch.randn(3, 10)
optimizer = torch.optim.Adam(vae.parameters(), lr=5e-3)
for step in range(250):
    x = torch.tanh(torch.randn(64, 3) @ mixing)
    loss = -vae.elbo(x)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(step, f"{loss.item():.3f}")
