"""VAE written with torch.distributions; the encoder predicts a variance with softplus."""
from dataclasses import dataclass

import torch
from torch import nn
from torch.distributions import Bernoulli, Independent, Normal, kl_divergence


@dataclass
class Config:
    pixels: int = 100
    width: int = 128
    latent: int = 5
    batch: int = 80
    steps: int = 800
    lr: float = 1e-3
    seed: int = 11


class GaussianHead(nn.Module):
    """Mean and variance of every latent unit."""

    def __init__(self, width, latent):
        super().__init__()
        self.loc = nn.Linear(width, latent)
        self.raw = nn.Linear(width, latent)

    def forward(self, h):
        mean = self.loc(h)
        variance = nn.functional.softplus(self.raw(h)) + 1e-5
        return mean, variance


class VAE(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(cfg.pixels, cfg.width), nn.ELU(),
                                   nn.Linear(cfg.width, cfg.width), nn.ELU())
        self.head = GaussianHead(cfg.width, cfg.latent)
        self.generator = nn.Sequential(nn.Linear(cfg.latent, cfg.width), nn.ELU(),
                                       nn.Linear(cfg.width, cfg.width), nn.ELU(),
                                       nn.Linear(cfg.width, cfg.pixels))

    def forward(self, x):
        mean, variance = self.head(self.trunk(x))
        eps = torch.randn_like(mean)
        z = mean + variance * eps
        posterior = Independent(Normal(mean, variance.sqrt()), 1)
        likelihood = Independent(Bernoulli(logits=self.generator(z)), 1)
        return posterior, likelihood


def checkerboards(n):
    base = torch.arange(10)
    out = []
    for _ in range(n):
        fx, fy = torch.randint(1, 5, (2,)).tolist()
        ox, oy = torch.randint(0, 4, (2,)).tolist()
        gx = ((base + ox) // fx) % 2
        gy = ((base + oy) // fy) % 2
        out.append((gx[:, None] ^ gy[None, :]).float().reshape(-1))
    return torch.stack(out)


def train(cfg):
    torch.set_num_threads(1)
    torch.manual_seed(cfg.seed)
    data = checkerboards(1500)
    vae = VAE(cfg)
    prior = Independent(Normal(torch.zeros(cfg.latent), torch.ones(cfg.latent)), 1)
    opt = torch.optim.Adam(vae.parameters(), lr=cfg.lr)
    history = []
    for step in range(cfg.steps):
        x = data[torch.randint(len(data), (cfg.batch,))]
        posterior, likelihood = vae(x)
        elbo = likelihood.log_prob(x) - kl_divergence(posterior, prior)
        loss = -elbo.mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        history.append(loss.item())
        if step % 200 == 0:
            print(f"step {step:5d}  loss {loss.item():.2f}")
    return history


if __name__ == "__main__":
    curve = train(Config())
    print("first 50:", sum(curve[:50]) / 50, " last 50:", sum(curve[-50:]) / 50)
