"""A variational autoencoder on small pictures of rings, trained in many short steps."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(2)
side, latent = 8, 4


class RingEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(side * side, 48)
        self.mean = nn.Linear(48, latent)
        self.log_variance = nn.Linear(48, latent)

    def forward(self, x):
        h = F.relu(self.body(x))
        return self.mean(h), self.log_variance(h)


class RingDecoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(latent, 48)
        self.pixels = nn.Linear(48, side * side)

    def forward(self, z):
        return torch.sigmoid(self.pixels(F.relu(self.body(z))))


class RingVAE(nn.Module):
    def __init__(self, encoder, decoder):
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder

    def forward(self, x):
        mean, log_variance = self.encoder(x)
        z = mean + torch.randn_like(mean) * torch.exp(0.5 * log_variance)
        return self.decoder(z), mean, log_variance


def rings(count):
    grid = torch.arange(side) - (side - 1) / 2
    distance = (grid[:, None] ** 2 + grid[None, :] ** 2).sqrt()
    radius = torch.rand(count, 1, 1) * 3 + 0.5
    return torch.exp(-2 * (distance - radius) ** 2).reshape(count, -1)


encoder, decoder = RingEncoder(), RingDecoder()
vae = RingVAE(encoder, decoder)
optimizer = torch.optim.Adam(decoder.parameters(), lr=2e-3)
for step in range(600):
    x = rings(32)
    rebuilt, mean, log_variance = vae(x)
    error = F.binary_cross_entropy(rebuilt, x, reduction="sum")
    divergence = -0.5 * torch.sum(1 + log_variance - mean**2 - log_variance.exp())
    loss = (error + divergence) / len(x)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 100 == 0:
        print(f"step {step}: {loss.item():.3f}")
