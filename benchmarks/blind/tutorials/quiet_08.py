"""Denoising diffusion on two moons; new points are sampled step by step at the end."""
import math

import torch
from torch import nn


def moons(n):
    t = math.pi * torch.rand(n)
    upper = torch.rand(n) > 0.5
    x = torch.where(upper, t.cos(), 1 - t.cos())
    y = torch.where(upper, t.sin(), 0.5 - t.sin())
    pts = torch.stack([x - 0.5, y - 0.25], 1) + 0.05 * torch.randn(n, 2)
    return pts / torch.tensor([0.87, 0.5])


class Denoiser(nn.Module):
    def __init__(self, width=96, freqs=5):
        super().__init__()
        self.register_buffer("freqs", 2.0 ** torch.arange(freqs))
        self.net = nn.Sequential(nn.Linear(2 + 2 * freqs, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU(),
                                 nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 2))

    def forward(self, x, t):
        ang = t.unsqueeze(1) * self.freqs
        return self.net(torch.cat([x, ang.sin(), ang.cos()], 1))


class Diffusion:
    def __init__(self, steps=60):
        self.steps = steps
        self.beta = torch.linspace(1e-3, 0.15, steps)
        self.alpha = 1 - self.beta
        self.abar = self.alpha.cumprod(0)

    def loss(self, model, x0):
        k = torch.randint(0, self.steps, (len(x0),))
        eps = torch.randn_like(x0)
        a = self.abar[k].unsqueeze(1)
        xk = a.sqrt() * x0 + (1 - a).sqrt() * eps
        return (model(xk, k / self.steps) - eps).pow(2).mean()

    @torch.no_grad()
    def sample(self, model, n):
        x = torch.randn(n, 2)
        for k in reversed(range(self.steps)):
            eps = model(x, torch.full((n,), k / self.steps))
            x = (x - self.beta[k] / (1 - self.abar[k]).sqrt() * eps) / self.alpha[k].sqrt()
            if k > 0:
                x = x + self.beta[k].sqrt() * torch.randn_like(x)
        return x


def main():
    torch.set_num_threads(1)
    torch.manual_seed(7)
    model, process = Denoiser(), Diffusion()
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
    avg = None
    for step in range(1, 1201):
        loss = process.loss(model, moons(128))
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
        avg = loss.item() if avg is None else 0.99 * avg + 0.01 * loss.item()
        if step % 200 == 0:
            print(f"step {step} loss {avg:.4f}")
    made, real = process.sample(model.eval(), 400), moons(400)
    nearest = torch.cdist(made, real).min(1).values.mean()
    print("distance of samples to the data", round(nearest.item(), 3))


if __name__ == "__main__":
    main()
