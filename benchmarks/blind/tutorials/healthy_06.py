"""VAE whose posterior passes through planar flows."""
import math

import torch
from torch import nn
import torch.nn.functional as F

from toy_pictures import gaussian_blobs


class PlanarFlow(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.w = nn.Parameter(torch.randn(dim) * 0.1)
        self.u = nn.Parameter(torch.randn(dim) * 0.1)
        self.b = nn.Parameter(torch.zeros(()))

    def forward(self, z):
        wu = self.w @ self.u
        u = self.u + (F.softplus(wu) - 1 - wu) * self.w / (self.w @ self.w + 1e-8)
        act = torch.tanh(z @ self.w + self.b)
        out = z + u * act.unsqueeze(-1)
        psi = (1 - act ** 2).unsqueeze(-1) * self.w
        return out, torch.log((1 + psi @ u).abs() + 1e-8)


def log_normal(z, mean, logvar):
    return (-0.5 * (math.log(2 * math.pi) + logvar + (z - mean) ** 2 / logvar.exp())).sum(-1)


class FlowVAE(nn.Module):
    def __init__(self, latent=4, flows=4, width=128):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(256, width), nn.ReLU(), nn.Linear(width, 2 * latent))
        self.flows = nn.ModuleList(PlanarFlow(latent) for _ in range(flows))
        self.dec = nn.Sequential(nn.Linear(latent, width), nn.ReLU(), nn.Linear(width, 256))

    def forward(self, x):
        mean, logvar = self.enc(x).chunk(2, -1)
        z = mean + torch.exp(0.5 * logvar) * torch.randn_like(mean)
        log_q = log_normal(z, mean, logvar)
        for flow in self.flows:
            z, logdet = flow(z)
            log_q = log_q - logdet
        log_p = log_normal(z, torch.zeros_like(z), torch.zeros_like(z))
        nll = F.binary_cross_entropy_with_logits(self.dec(z), x, reduction="none").sum(-1)
        return nll, log_q - log_p


def main(epochs=10):
    torch.set_num_threads(1)
    torch.manual_seed(6)
    data = gaussian_blobs(1500).flatten(1)
    vae = FlowVAE()
    opt = torch.optim.Adam(vae.parameters(), lr=1e-3)
    for epoch in range(epochs):
        record = []
        for x in data[torch.randperm(len(data))].split(50):
            nll, kl = vae(x)
            loss = (nll + kl).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            record.append(loss.item())
        print(f"{epoch:2d} {sum(record) / len(record):.3f}")


if __name__ == "__main__":
    main()
