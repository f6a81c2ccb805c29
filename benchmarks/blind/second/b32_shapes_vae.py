import argparse
import torch
from torch import nn, optim
from torch.nn import functional as F

parser = argparse.ArgumentParser(description="VAE on toy blobs")
parser.add_argument("--batch-size", type=int, default=64)
parser.add_argument("--steps", type=int, default=400)
parser.add_argument("--latent", type=int, default=4)
parser.add_argument("--lr", type=float, default=2e-3)
parser.add_argument("--seed", type=int, default=1)
args = parser.parse_args()
torch.manual_seed(args.seed)


def blobs(n):
    c = torch.rand(n, 2) * 8 + 2
    s = torch.rand(n) * 1.5 + 1.0
    g = torch.arange(12).float()
    d2 = (g[None, :, None] - c[:, 0, None, None]) ** 2 + (g[None, None, :] - c[:, 1, None, None]) ** 2
    return torch.exp(-d2 / (2 * s[:, None, None] ** 2)).view(n, 144)


class VAE(nn.Module):
    def __init__(self, latent):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(144, 96), nn.ReLU())
        self.mu, self.lv = nn.Linear(96, latent), nn.Linear(96, latent)
        self.dec = nn.Sequential(nn.Linear(latent, 96), nn.ReLU(), nn.Linear(96, 144))

    def encode(self, x):
        h = self.enc(x)
        return self.mu(h), self.lv(h)

    def forward(self, x):
        mu, lv = self.encode(x)
        z = mu + torch.randn_like(mu) * torch.exp(0.5 * lv)
        return self.dec(z), mu, lv


def loss_function(logits, x, mu, logvar):
    recon = F.binary_cross_entropy_with_logits(logits, x)
    kld = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp(), dim=1).mean()
    return recon + kld, recon, kld


model = VAE(args.latent)
optimizer = optim.Adam(model.parameters(), lr=args.lr)
for step in range(1, args.steps + 1):
    x = blobs(args.batch_size)
    logits, mu, lv = model(x)
    loss, recon, kld = loss_function(logits, x, mu, lv)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(f"step {step}: loss {loss.item():.4f} recon {recon.item():.4f} kld {kld.item():.4f}")

with torch.no_grad():
    x = blobs(1000)
    mu, _ = model.encode(x)
    rec = torch.sigmoid(model.dec(mu))
    print(f"reconstruction mse {F.mse_loss(rec, x):.5f} vs predicting the mean image {F.mse_loss(x.mean(0).expand_as(x), x):.5f}")
