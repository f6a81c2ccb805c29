"""Imbalanced event detection with class weights."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def simulate(n, seed):
    g = torch.Generator().manual_seed(seed)
    kind = torch.multinomial(torch.tensor([0.85, 0.10, 0.05]), n, replacement=True, generator=g)
    base = torch.tensor([[0.0, 0.0, 0.0, 0.0], [1.5, -0.8, 0.0, 0.5], [-0.5, 1.4, 1.2, 0.0]])
    x = torch.randn(n, 12, generator=g)
    x[:, :4] += base[kind]
    return x, kind


def class_weights(labels, n_class):
    counts = torch.bincount(labels, minlength=n_class).float()
    w = counts / counts.sum()
    return w * n_class / w.sum()


def balanced_recall(model, x, y):
    with torch.no_grad():
        p = model(x).argmax(1)
    return [(p[y == c] == c).float().mean().item() for c in range(3)]


def main():
    torch.manual_seed(14)
    xtr, ytr = simulate(4000, 1)
    xte, yte = simulate(3000, 2)
    weights = class_weights(ytr, 3)
    crit = nn.CrossEntropyLoss(weight=weights)
    model = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 3))
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    loader = DataLoader(TensorDataset(xtr, ytr), batch_size=64, shuffle=True)
    for ep in range(5):
        model.train()
        s = 0.0
        for x, y in loader:
            opt.zero_grad()
            loss = crit(model(x), y)
            loss.backward()
            opt.step()
            s += loss.item()
        model.eval()
        r = balanced_recall(model, xte, yte)
        print(f"epoch {ep}: loss {s / len(loader):.4f} recalls " + " ".join(f"{v:.2f}" for v in r) + f" mean {sum(r) / 3:.3f}")


if __name__ == "__main__":
    main()
