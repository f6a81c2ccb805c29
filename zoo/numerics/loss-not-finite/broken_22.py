"""Discriminator with a minibatch statistic, trained to tell two textures apart."""
import torch
from torch import nn


class BatchSpread(nn.Module):
    def forward(self, h):
        spread = h.var(dim=0).sqrt().mean()
        return torch.cat([h, spread.expand(h.size(0), 1)], dim=1)


class Disc(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Linear(20, 40), nn.Tanh())
        self.colour = nn.Embedding(3, 8)
        self.stat = BatchSpread()
        self.out = nn.Linear(49, 1)

    def forward(self, x, c):
        h = torch.cat([self.stem(x), self.colour(c)], dim=1)
        return self.out(self.stat(h)).squeeze(1)


def texture(kind, n):
    base = torch.sin(torch.arange(20) * (0.5 + kind))
    return base * torch.rand(n, 1) + 0.1 * torch.randn(n, 20)


if __name__ == "__main__":
    torch.manual_seed(40)
    disc = Disc()
    opt = torch.optim.Adam(disc.parameters(), lr=1e-3)
    bce = nn.BCEWithLogitsLoss()
    for i in range(60):
        a, b = texture(0, 16), texture(1, 16)
        c = torch.randint(0, 3, (1,)).expand(16)
        loss = bce(disc(a, c), torch.ones(16)) + bce(disc(b, c), torch.zeros(16))
        opt.zero_grad()
        loss.backward()
        opt.step()
        if i % 10 == 0:
            print(i, loss.item())
