"""VampPrior: the prior is a mixture of posteriors of learned pseudo-inputs."""
import math

import torch
from torch import nn
import torch.nn.functional as F

from toy_pictures import stripes


class VampVAE(nn.Module):
    def __init__(self, pseudo=20, latent=6, width=128):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(256, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh())
        self.mean, self.logvar = nn.Linear(width, latent), nn.Linear(width, latent)
        self.decoder = nn.Sequential(nn.Linear(latent, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(),
                                     nn.Linear(width, 256))
        self.pseudo = nn.Parameter(torch.randn(pseudo, 256) * 0.5)

    def posterior(self, x):
        h = self.encoder(x)
        return self.mean(h), self.logvar(h).clamp(-7, 3)

    @staticmethod
    def log_gauss(z, m, lv):
        return (-0.5 * (lv + (z - m) ** 2 / lv.exp() + math.log(2 * math.pi))).sum(-1)

    def log_prior(self, z):
        m, lv = self.posterior(torch.sigmoid(self.pseudo))
        each = self.log_gauss(z.unsqueeze(1), m.unsqueeze(0), lv.unsqueeze(0))
        return torch.logsumexp(each, dim=1) - math.log(len(m))

    def loss(self, x):
        m, lv = self.posterior(x)
        z = m + torch.exp(0.5 * lv) * torch.randn_like(m)
        nll = F.binary_cross_entropy_with_logits(self.decoder(z), x, reduction="none").sum(-1)
        kl = self.log_gauss(z, m, lv) - self.log_prior(z)
        return nll.mean(), kl.mean()

    @torch.no_grad()
    def sample(self, n):
        m, lv = self.posterior(torch.sigmoid(self.pseudo))
        pick = torch.randint(len(m), (n,))
        z = m[pick] + torch.exp(0.5 * lv[pick]) * torch.randn_like(m[pick])
        return torch.sigmoid(self.decoder(z))


if __name__ == "__main__":
    torch.set_num_threads(1)
    torch.manual_seed(14)
    images = stripes(1500)[0].flatten(1)
    net = VampVAE()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    for epoch in range(9):
        for ids in torch.randperm(len(images)).split(60):
            rec, kl = net.loss(images[ids])
            optimizer.zero_grad()
            (rec + kl).backward()
            optimizer.step()
        print(f"epoch {epoch}  rec {rec.item():.2f}  kl {kl.item():.2f}")
    print(net.sample(5).shape)
