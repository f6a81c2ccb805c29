# Implicit fields: SIREN (sin activations, special init, zero-bias) and NeRF-like positional encoding MLP, full batch, exponential lr decay.
import math

import numpy as np
import torch
from torch import nn

torch.manual_seed(1)
side = 24
lin = torch.linspace(-1, 1, side)
coords = torch.stack(torch.meshgrid(lin, lin, indexing="ij"), -1).reshape(-1, 2)
image = (torch.sin(6 * coords[:, 0]) * torch.cos(4 * coords[:, 1]) + (coords.norm(dim=1) < 0.5).float())[:, None]


class SineLayer(nn.Module):
    def __init__(self, i, o, first=False, omega=30.0):
        super().__init__()
        self.omega, self.linear = omega, nn.Linear(i, o)
        with torch.no_grad():
            b = 1 / i if first else np.sqrt(6 / i) / omega
            self.linear.weight.uniform_(-b, b)

    def forward(self, x):
        return torch.sin(self.omega * self.linear(x))


class Siren(nn.Module):
    def __init__(self, h=64):
        super().__init__()
        self.net = nn.Sequential(SineLayer(2, h, True, 12.0), SineLayer(h, h), nn.Linear(h, 1))
        with torch.no_grad():
            b = np.sqrt(6 / h) / 30
            self.net[-1].weight.uniform_(-b, b)

    def forward(self, x):
        return self.net(x)


class PosEncMLP(nn.Module):
    def __init__(self, L=5, h=64):
        super().__init__()
        self.register_buffer("freqs", 2.0 ** torch.arange(L) * math.pi / 2)
        self.l1 = nn.Linear(2 + 4 * L, h)
        self.l2 = nn.Linear(h, h)
        self.l3 = nn.Linear(h + 2 + 4 * L, h)  # skip connection
        self.out = nn.Linear(h, 1)

    def forward(self, x):
        a = x[..., None] * self.freqs
        e = torch.cat([x, a.sin().flatten(-2), a.cos().flatten(-2)], -1)
        h = torch.relu(self.l2(torch.relu(self.l1(e))))
        return self.out(torch.relu(self.l3(torch.cat([h, e], -1))))


def psnr(mse):
    return -10 * math.log10(mse)


for name, model, lr in (("siren", Siren(), 1e-3), ("nerf-mlp", PosEncMLP(), 5e-3)):
    optim = torch.optim.Adam(params=model.parameters(), lr=lr)
    sched = torch.optim.lr_scheduler.ExponentialLR(optim, 0.99)
    for step in range(161):
        loss = ((model(coords) - image) ** 2).mean()
        optim.zero_grad()
        loss.backward()
        optim.step()
        sched.step()
        if step % 40 == 0:
            print(f"{name} step {step}, loss {loss.item():.6f} psnr {psnr(loss.item()):.2f}")
