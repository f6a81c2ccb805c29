"""1-D CNN on multichannel recordings stored as (trial, time, channel)."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F


class EEGNet(nn.Module):
    def __init__(self, n_ch, n_classes, width=16):
        super().__init__()
        self.temporal = nn.Conv1d(n_ch, width, kernel_size=7, padding=3)
        self.norm = nn.BatchNorm1d(width)
        self.second = nn.Conv1d(width, width, kernel_size=5, padding=2)
        self.fc = nn.Linear(width, n_classes)
        self.n_ch = n_ch

    def forward(self, x):
        x = x.view(x.size(0), self.n_ch, -1)
        x = F.elu(self.norm(self.temporal(x)))
        x = F.avg_pool1d(x, 2)
        x = F.elu(self.second(x))
        return self.fc(x.mean(-1))


def trials(n, n_ch=6, length=36, seed=0):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, 3, (n,), generator=g)
    t = torch.arange(length).float()
    x = 0.8 * torch.randn(n, length, n_ch, generator=g)
    phase = 6.28 * torch.rand(n, generator=g)
    wave = torch.sin(0.7 * t[None] + phase[:, None])
    lag = torch.cos(0.7 * t[None] + phase[:, None])
    for c, (a, b) in enumerate([(0, 1), (1, 0), (2, 3)]):
        m = y == c
        x[m, :, a] += wave[m]
        x[m, :, b] += lag[m]
    return x, y


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=6)
    ap.add_argument("--batch-size", type=int, default=40)
    ap.add_argument("--lr", type=float, default=3e-3)
    a = ap.parse_args()
    torch.manual_seed(0)
    x, y = trials(1600, seed=1)
    xv, yv = trials(600, seed=2)
    net = EEGNet(6, 3)
    opt = torch.optim.Adam(net.parameters(), lr=a.lr)
    for ep in range(a.epochs):
        net.train()
        tot = 0.0
        for idx in torch.randperm(len(x)).split(a.batch_size):
            loss = F.cross_entropy(net(x[idx]), y[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
            tot += loss.item() * len(idx)
        net.eval()
        with torch.no_grad():
            acc = (net(xv).argmax(1) == yv).float().mean().item()
        print(f"ep {ep} train loss {tot / len(x):.4f} val acc {acc:.3f}")


if __name__ == "__main__":
    main()
