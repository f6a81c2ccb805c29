#!/usr/bin/env python
"""Convolutional VAE for synthetic 28x28 pictures."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=5)
    p.add_argument("--batch-size", type=int, default=64)
    p.add_argument("--latent", type=int, default=10)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--seed", type=int, default=1)
    return p.parse_args()


def discs(n, size=28):
    yy, xx = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    cx = torch.randint(8, size - 8, (n, 1, 1))
    cy = torch.randint(8, size - 8, (n, 1, 1))
    rad = torch.randint(3, 8, (n, 1, 1))
    inside = (xx - cx) ** 2 + (yy - cy) ** 2 <= rad ** 2
    return inside.float().unsqueeze(1)


class ConvVAE(nn.Module):
    def __init__(self, latent):
        super().__init__()
        self.down = nn.Sequential(
            nn.Conv2d(1, 16, 4, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(16, 32, 4, stride=2, padding=1), nn.ReLU(),
        )
        self.to_stats = nn.Linear(32 * 8 * 8, 2 * latent)
        self.from_latent = nn.Linear(latent, 32 * 7 * 7)
        self.up = nn.Sequential(
            nn.ConvTranspose2d(32, 16, 4, stride=2, padding=1), nn.ReLU(),
            nn.ConvTranspose2d(16, 1, 4, stride=2, padding=1),
        )

    def encode(self, x):
        h = self.down(x).flatten(start_dim=1)
        return self.to_stats(h).chunk(2, dim=1)

    def decode(self, z):
        h = F.relu(self.from_latent(z)).view(-1, 32, 7, 7)
        return self.up(h)

    def forward(self, x):
        mu, logvar = self.encode(x)
        z = torch.randn_like(mu).mul(torch.exp(logvar / 2)).add(mu)
        return self.decode(z), mu, logvar


def elbo_loss(logits, x, mu, logvar):
    bce = F.binary_cross_entropy_with_logits(logits, x, reduction="none").flatten(1).sum(1)
    kld = 0.5 * (mu ** 2 + logvar.exp() - logvar - 1).sum(1)
    return (bce + kld).mean()


def main():
    args = parse()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    images = discs(512)
    net = ConvVAE(args.latent)
    optim = torch.optim.Adam(net.parameters(), lr=args.lr)
    for epoch in range(1, args.epochs + 1):
        running, seen = 0.0, 0
        for batch in images[torch.randperm(len(images))].split(args.batch_size):
            optim.zero_grad()
            logits, mu, logvar = net(batch)
            loss = elbo_loss(logits, batch, mu, logvar)
            loss.backward()
            optim.step()
            running += loss.item() * len(batch)
            seen += len(batch)
        print(f"epoch {epoch}: {running / seen:.2f}")


if __name__ == "__main__":
    main()
