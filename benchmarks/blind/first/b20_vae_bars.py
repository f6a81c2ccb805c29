import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(10)
S = 8


def bars(n):
    rows = torch.rand(n, S) < 0.3
    cols = torch.rand(n, S) < 0.3
    img = (rows[:, :, None] | cols[:, None, :]).float()
    noise = (torch.rand(n, S, S) < 0.02).float()
    return (img - noise).abs().view(n, S * S)


class VAE(nn.Module):
    def __init__(self, latent=16, hidden=96):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(S * S, hidden), nn.ReLU())
        self.mu = nn.Linear(hidden, latent)
        self.logvar = nn.Linear(hidden, latent)
        self.dec = nn.Sequential(nn.Linear(latent, hidden), nn.ReLU(), nn.Linear(hidden, S * S))

    def forward(self, x):
        h = self.enc(x)
        mu, logvar = self.mu(h), self.logvar(h)
        z = mu + torch.randn_like(mu) * torch.exp(0.5 * logvar)
        return self.dec(z), mu, logvar


def elbo(recon, x, mu, logvar):
    rec = F.binary_cross_entropy_with_logits(recon, x)
    kl = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp(), dim=1).mean()
    return rec + kl, rec, kl


train_loader = DataLoader(TensorDataset(bars(3000)), batch_size=60, shuffle=True)
x_val = bars(500)
model = VAE()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

for epoch in range(8):
    model.train()
    for (x,) in train_loader:
        recon, mu, logvar = model(x)
        loss, _, _ = elbo(recon, x, mu, logvar)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        recon, mu, logvar = model(x_val)
        _, rec, kl = elbo(recon, x_val, mu, logvar)
        wrong = ((recon > 0).float() != x_val).float().mean()
    print(f"epoch {epoch}: val bce {rec.item():.4f} kl {kl.item():.4f} pixel error {wrong.item():.3f}")
