"""Regression with uncertain weights: each layer draws its own, and is held near a narrow prior."""
import math

import torch
import torch.nn.functional as F
from torch import nn

PRIOR_STD = 0.5


class BayesLinear(nn.Module):
    def __init__(self, size, out):
        super().__init__()
        self.mu = nn.Parameter(torch.randn(out, size) / math.sqrt(size))
        self.rho = nn.Parameter(torch.full((out, size), -3.0))
        self.bias = nn.Parameter(torch.zeros(out))

    def forward(self, x):
        sigma = F.softplus(self.rho)
        weight = self.mu + sigma * torch.randn_like(sigma)
        ratio = (sigma / PRIOR_STD) ** 2
        self.kl = 0.5 * (ratio + (self.mu / PRIOR_STD) ** 2 - 1 - ratio.log()).sum()
        return F.linear(x, weight, self.bias)


torch.manual_seed(0)
model = nn.Sequential(BayesLinear(8, 32), nn.ReLU(), BayesLinear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
direction = torch.randn(8, 1) / 3
inputs = torch.randn(512, 8)
targets = torch.sin(2 * inputs @ direction) + 0.1 * torch.randn(512, 1)
for step in range(200):
    chosen = torch.randint(512, (64,))
    error = F.mse_loss(model(inputs[chosen]), targets[chosen])
    kl = sum(layer.kl for layer in model if isinstance(layer, BayesLinear))
    loss = error / (2 * 0.1**2) + kl / 512
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(step, error.item(), kl.item())
