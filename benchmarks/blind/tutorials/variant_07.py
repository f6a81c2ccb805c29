# Latent variable model of sensor curves, Gaussian likelihood with a learned noise level.
import math

import torch
import torch.nn as nn

torch.set_num_threads(1)

torch.manual_seed(8)

T = 40
LATENT = 3


def curves(n):
    t = torch.linspace(0, 1, T)
    amp = 0.5 + torch.rand(n, 1)
    freq = 1 + 2 * torch.rand(n, 1)
    phase = 2 * math.pi * torch.rand(n, 1)
    return amp * torch.sin(2 * math.pi * freq * t + phase) + 0.05 * torch.randn(n, T)


class Inference(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv1d(1, 16, 5, stride=2, padding=2), nn.GELU(),
            nn.Conv1d(16, 32, 5, stride=2, padding=2), nn.GELU(), nn.Flatten())
        self.mean = nn.Linear(32 * 10, LATENT)
        self.logstd = nn.Linear(32 * 10, LATENT)

    def forward(self, y):
        feats = self.conv(y.unsqueeze(1))
        return self.mean(feats), self.logstd(feats).clamp(-6, 3)


class Generative(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(LATENT, 128), nn.GELU(), nn.Linear(128, 128), nn.GELU(), nn.Linear(128, T))
        self.log_noise = nn.Parameter(torch.tensor(0.0))

    def log_likelihood(self, y, z):
        sigma = self.log_noise.exp()
        resid = (y - self.net(z)) / sigma
        return (-0.5 * resid ** 2 - self.log_noise - 0.5 * math.log(2 * math.pi)).sum(1)


def draw(mean, logstd):
    scale = logstd.exp()
    noise = torch.randn_like(scale)
    return scale + mean * noise


q, p = Inference(), Generative()
opt = torch.optim.AdamW([*q.parameters(), *p.parameters()], lr=2e-3, weight_decay=1e-4)
train_y = curves(1500)
test_y = curves(400)

for epoch in range(10):
    acc = 0.0
    perm = torch.randperm(len(train_y))
    for idx in perm.split(100):
        y = train_y[idx]
        mean, logstd = q(y)
        z = draw(mean, logstd)
        kl = (0.5 * (mean ** 2 + (2 * logstd).exp() - 1) - logstd).sum(1)
        bound = p.log_likelihood(y, z) - kl
        loss = -bound.mean()
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
        acc += loss.item() * len(idx)
    with torch.no_grad():
        m, _ = q(test_y)
        err = (p.net(m) - test_y).pow(2).mean()
    print(f"{epoch:2d}  nelbo {acc / len(train_y):7.3f}  test mse {err:.4f}  noise {p.log_noise.exp().item():.3f}")
