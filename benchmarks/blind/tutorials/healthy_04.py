"""Conditional VAE with label embedding and FiLM modulation."""
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

from toy_pictures import stripes


class FiLM(nn.Module):
    def __init__(self, cond, width):
        super().__init__()
        self.scale = nn.Linear(cond, width)
        self.shift = nn.Linear(cond, width)

    def forward(self, h, c):
        return h * (1 + self.scale(c)) + self.shift(c)


class ConditionalVAE(nn.Module):
    def __init__(self, classes=4, cond=8, width=128, latent=6):
        super().__init__()
        self.embed = nn.Embedding(classes, cond)
        self.e1, self.ef = nn.Linear(256, width), FiLM(cond, width)
        self.e2 = nn.Linear(width, 2 * latent)
        self.d1, self.df = nn.Linear(latent, width), FiLM(cond, width)
        self.d2, self.d3 = nn.Linear(width, width), nn.Linear(width, 256)
        self.latent = latent

    def encode(self, x, c):
        return self.e2(F.gelu(self.ef(self.e1(x), c))).chunk(2, 1)

    def decode(self, z, c):
        return self.d3(F.gelu(self.d2(F.gelu(self.df(self.d1(z), c)))))

    def forward(self, x, y):
        c = self.embed(y)
        mu, logvar = self.encode(x, c)
        std = (0.5 * logvar).exp()
        z = mu + std * torch.randn_like(std)
        return self.decode(z, c), mu, logvar


def train_epoch(model, loader, opt):
    total = 0.0
    for x, y in loader:
        logits, mu, logvar = model(x.flatten(1), y)
        nll = F.binary_cross_entropy_with_logits(logits, x.flatten(1), reduction="sum")
        kl = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum()
        loss = (nll + kl) / x.size(0)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
    return total / len(loader)


if __name__ == "__main__":
    torch.set_num_threads(1)
    torch.manual_seed(9)
    loader = DataLoader(TensorDataset(*stripes(1500)), batch_size=50, shuffle=True)
    model = ConditionalVAE()
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(9):
        print(f"{epoch}: {train_epoch(model, loader, opt):.3f}")
    with torch.no_grad():
        y = torch.arange(4)
        pics = torch.sigmoid(model.decode(torch.randn(4, model.latent), model.embed(y)))
    print("class samples", tuple(pics.shape))
