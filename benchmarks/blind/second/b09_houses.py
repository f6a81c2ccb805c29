"""Train a regressor with a built-in input normaliser, save it, reload it in a fresh model and report."""
import io
import os
import tempfile

import torch
import torch.nn as nn


class Standardize(nn.Module):
    def __init__(self, dim, momentum=0.05):
        super().__init__()
        self.momentum = momentum
        self.mean = torch.zeros(dim)
        self.var = torch.ones(dim)
        self.register_buffer("count", torch.zeros((), dtype=torch.long))

    def forward(self, x):
        if self.training:
            with torch.no_grad():
                m, v = x.mean(0), x.var(0)
                a = 1.0 if self.count == 0 else self.momentum
                self.mean = (1 - a) * self.mean + a * m
                self.var = (1 - a) * self.var + a * v
                self.count += 1
        return (x - self.mean) / (self.var + 1e-5).sqrt()


def build():
    return nn.Sequential(Standardize(8), nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))


def houses(n, g):
    scale = torch.tensor([120., 3., 30., 5., 900., 0.2, 14., 60.])
    shift = torch.tensor([200., 4., 50., 7., 2000., 1.0, 20., 10.])
    z = torch.randn(n, 8, generator=g)
    price = z[:, 0] + 0.7 * z[:, 1] * z[:, 2] - 0.5 * z[:, 4].abs() + 0.3 * z[:, 6]
    return z * scale + shift, price[:, None]


def mse(model, x, y):
    model.eval()
    with torch.no_grad():
        return nn.functional.mse_loss(model(x), y).item()


def main():
    torch.manual_seed(2)
    g = torch.Generator().manual_seed(99)
    x, y = houses(3200, g)
    xv, yv = houses(800, g)
    model = build()
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    path = os.path.join(tempfile.mkdtemp(), "last.pt")
    for epoch in range(6):
        model.train()
        ep = 0.0
        for idx in torch.randperm(len(x)).split(64):
            opt.zero_grad()
            loss = nn.functional.mse_loss(model(x[idx]), y[idx])
            loss.backward()
            opt.step()
            ep += loss.item()
        print(f"epoch {epoch} train {ep / 50:.4f} val {mse(model, xv, yv):.4f}")
        torch.save({"model": model.state_dict(), "epoch": epoch}, path)

    served = build()
    served.load_state_dict(torch.load(path)["model"])
    print(f"reloaded model: val {mse(served, xv, yv):.4f}  (target variance {yv.var().item():.3f})")


if __name__ == "__main__":
    main()
