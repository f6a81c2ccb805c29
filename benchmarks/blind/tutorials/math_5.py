"""Picture VAE with residual blocks and sigmoid output, squared error reconstruction."""
import torch
from torch import nn
from torch.nn import functional as F

from toy_pictures import stripes


class Residual(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.f = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, dim))

    def forward(self, x):
        return x + self.f(x)


class ResVAE(nn.Module):
    def __init__(self, dim=96, z=16):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(256, dim), Residual(dim), Residual(dim))
        self.stats = nn.ModuleDict({"mu": nn.Linear(dim, z), "logvar": nn.Linear(dim, z)})
        self.dec = nn.Sequential(nn.Linear(z, dim), Residual(dim), Residual(dim), nn.Linear(dim, 256), nn.Sigmoid())

    def forward(self, x):
        h = self.enc(x)
        mu, logvar = self.stats["mu"](h), self.stats["logvar"](h)
        z = mu + torch.randn_like(mu) * torch.exp(0.5 * logvar)
        return self.dec(z), mu, logvar


class VAELoss(nn.Module):
    def forward(self, recon, target, mu, logvar):
        rec = F.mse_loss(recon, target, reduction="mean")
        kld = torch.mean(-0.5 * torch.sum(1 + logvar - mu ** 2 - logvar.exp(), dim=1), dim=0)
        return rec + kld, rec.detach(), kld.detach()


def train(model, data, epochs, batch_size, lr):
    loss_fn = VAELoss()
    opt = torch.optim.Adam(model.parameters(), lr=lr)
    for epoch in range(1, epochs + 1):
        stats = torch.zeros(3)
        count = 0
        for x in data[torch.randperm(len(data))].split(batch_size):
            recon, mu, logvar = model(x)
            loss, rec, kld = loss_fn(recon, x, mu, logvar)
            opt.zero_grad()
            loss.backward()
            opt.step()
            stats += torch.stack([loss.detach(), rec, kld])
            count += 1
        loss, rec, kld = (stats / count).tolist()
        print(f"[{epoch}/{epochs}] loss {loss:.4f} rec {rec:.4f} kld {kld:.5f}")


if __name__ == "__main__":
    torch.set_num_threads(1)
    torch.manual_seed(4)
    pictures, _ = stripes(1500)
    train(ResVAE(), pictures.flatten(1), epochs=8, batch_size=50, lr=1e-3)
