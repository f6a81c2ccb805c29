"""Sensor curves compressed by a VAE whose encoder and sampling are plain functions."""
import torch
from torch import nn, optim

SIZE, HIDDEN, CODE = 30, 40, 3

encoder = nn.Sequential(nn.Linear(SIZE, HIDDEN), nn.Tanh(), nn.Linear(HIDDEN, 2 * CODE))
decoder = nn.Sequential(nn.Linear(CODE, HIDDEN), nn.Tanh(), nn.Linear(HIDDEN, SIZE))


def sample(mean, log_variance):
    half = log_variance / 2
    return torch.randn_like(half).mul(half).add(mean)


def divergence(mean, log_variance):
    return -0.5 * (1 + log_variance - mean.square() - log_variance.exp()).sum(dim=1)


def curves(count):
    t = torch.linspace(0, 6, SIZE)
    return torch.sin(t * (0.6 + torch.rand(count, 1)) + 6 * torch.rand(count, 1))


torch.manual_seed(5)
for layer in (*encoder, *decoder):
    if isinstance(layer, nn.Linear):
        nn.init.xavier_uniform_(layer.weight)
optimizer = optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=3e-3)
for step in range(150):
    batch = curves(64)
    parameters = encoder(batch)
    mean, log_variance = parameters[:, :CODE], parameters[:, CODE:]
    rebuilt = decoder(sample(mean, log_variance))
    error = ((rebuilt - batch) ** 2).sum(dim=1)
    loss = (10 * error + divergence(mean, log_variance)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(step, loss.item())
