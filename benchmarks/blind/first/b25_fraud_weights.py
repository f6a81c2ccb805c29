import argparse

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def transactions(n, seed):
    g = torch.Generator().manual_seed(seed)
    u = torch.rand(n, generator=g)
    y = torch.zeros(n, dtype=torch.long)
    y[u < 0.08] = 1
    y[u < 0.03] = 2
    x = torch.randn(n, 10, generator=g)
    x[y == 1, :3] += 1.3
    x[y == 2, 2:5] -= 1.4
    return x, y


def per_class_recall(logits, y, k=3):
    pred = logits.argmax(1)
    return [(pred[y == c] == c).float().mean().item() for c in range(k)]


def train(args):
    torch.manual_seed(args.seed)
    x_train, y_train = transactions(4000, 1)
    x_val, y_val = transactions(2000, 2)
    loader = DataLoader(TensorDataset(x_train, y_train), batch_size=args.batch_size, shuffle=True)

    # balance the loss over the classes
    counts = torch.bincount(y_train, minlength=3).float()
    weights = counts / counts.sum()
    weights = weights * 3 / weights.sum()
    criterion = nn.CrossEntropyLoss(weight=weights)

    model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 3))
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    for epoch in range(args.epochs):
        model.train()
        total = 0.0
        for xb, yb in loader:
            loss = criterion(model(xb), yb)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        model.eval()
        with torch.no_grad():
            out = model(x_val)
            recall = per_class_recall(out, y_val)
            acc = (out.argmax(1) == y_val).float().mean().item()
        print(f"epoch {epoch}: loss {total / len(loader):.4f} acc {acc:.3f} "
              f"recall {[round(r, 2) for r in recall]} balanced {sum(recall) / 3:.3f}")


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=6)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--batch_size", type=int, default=64)
    p.add_argument("--seed", type=int, default=0)
    train(p.parse_args())
