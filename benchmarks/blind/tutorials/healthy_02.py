"""beta-VAE with cyclical annealing, convolutional."""
import torch
from torch import nn
import torch.nn.functional as F

from toy_pictures import gaussian_blobs

torch.set_num_threads(1)


class BetaVAE(nn.Module):
    def __init__(self, latent=6):
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv2d(1, 12, 4, 2, 1), nn.ReLU(), nn.Conv2d(12, 24, 4, 2, 1), nn.ReLU(),
                                     nn.Flatten(), nn.Linear(384, 2 * latent))
        self.decoder = nn.Sequential(nn.Linear(latent, 384), nn.ReLU(), nn.Unflatten(1, (24, 4, 4)),
                                     nn.ConvTranspose2d(24, 12, 4, 2, 1), nn.ReLU(),
                                     nn.ConvTranspose2d(12, 1, 4, 2, 1))

    def forward(self, x):
        mu, logvar = self.encoder(x).chunk(2, dim=1)
        z = mu + torch.randn_like(mu) * (0.5 * logvar).exp()
        return self.decoder(z), mu, logvar


def cyclical_beta(step, period, top, ramp=0.5):
    """Goes from 0 to top in the first half of every period, then stays."""
    return top * min(1.0, (step % period) / (ramp * period))


class Runner:
    def __init__(self, top_beta=2.0, period=60):
        self.model = BetaVAE()
        self.opt = torch.optim.Adam(self.model.parameters(), lr=2e-3)
        self.top, self.period, self.step = top_beta, period, 0

    def update(self, x):
        beta = cyclical_beta(self.step, self.period, self.top)
        logits, mu, logvar = self.model(x)
        rec = F.binary_cross_entropy_with_logits(logits, x, reduction="sum") / len(x)
        kl = -0.5 * (1 + logvar - mu ** 2 - logvar.exp()).sum(1).mean()
        loss = rec + beta * kl
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        self.step += 1
        return rec.item(), kl.item(), beta


def main():
    torch.manual_seed(7)
    runner = Runner()
    data = gaussian_blobs(960)
    for epoch in range(8):
        for x in data[torch.randperm(len(data))].split(32):
            rec, kl, beta = runner.update(x)
        print(f"epoch {epoch} rec {rec:.2f} kl {kl:.2f} beta {beta:.2f}")


if __name__ == "__main__":
    main()
