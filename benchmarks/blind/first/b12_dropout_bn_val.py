import argparse

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self, d_in, n_classes, width=96, p=0.5):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(d_in, width), nn.BatchNorm1d(width), nn.ReLU(), nn.Dropout(p),
            nn.Linear(width, width), nn.BatchNorm1d(width), nn.ReLU(), nn.Dropout(p),
        )
        self.head = nn.Linear(width, n_classes)

    def forward(self, x):
        return self.head(self.body(x))


def load(n, d, k, seed):
    g = torch.Generator().manual_seed(seed)
    centers = torch.randn(k, d, generator=g) * 0.75
    y = torch.randint(0, k, (n,), generator=g)
    x = centers[y] + torch.randn(n, d, generator=g)
    x = (x - x.mean(0)) / x.std(0)
    return x, y


def train(model, loader, opt, loss_fn):
    model.train()
    for x, y in loader:
        opt.zero_grad()
        loss_fn(model(x), y).backward()
        opt.step()


def validate(model, loader, loss_fn):
    loss, correct, n = 0.0, 0, 0
    with torch.no_grad():
        for x, y in loader:
            out = model(x)
            loss += loss_fn(out, y).item() * len(y)
            correct += (out.argmax(1) == y).sum().item()
            n += len(y)
    return loss / n, correct / n


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=8)
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--bs", type=int, default=64)
    args = ap.parse_args()
    torch.manual_seed(0)

    x, y = load(2400, 24, 8, seed=13)
    train_dl = DataLoader(TensorDataset(x[:1920], y[:1920]), batch_size=args.bs, shuffle=True)
    val_dl = DataLoader(TensorDataset(x[1920:], y[1920:]), batch_size=16)
    model = Net(24, 8)
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr)
    loss_fn = nn.CrossEntropyLoss()
    for epoch in range(args.epochs):
        train(model, train_dl, opt, loss_fn)
        vl, va = validate(model, val_dl, loss_fn)
        print(f"[{epoch + 1}/{args.epochs}] val loss {vl:.4f} val acc {va:.4f}")


if __name__ == "__main__":
    main()
