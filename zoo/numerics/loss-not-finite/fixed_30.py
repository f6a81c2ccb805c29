"""Standardise a table, then classify."""
import torch
from torch import nn


def standardise(train, test):
    mean, std = train.mean(0), train.std(0)
    return (train - mean) / std.clamp_min(1e-8), (test - mean) / std.clamp_min(1e-8)


def load():
    g = torch.Generator().manual_seed(3)
    x = torch.randn(800, 10, generator=g) * torch.arange(1.0, 11.0)
    x[:, 6] = 1.0
    y = (x[:, 0] + x[:, 1] / 2 > 0).long()
    return x[:600], y[:600], x[600:], y[600:]


def train(model, x, y, epochs):
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    for e in range(epochs):
        for xb, yb in zip(x.split(100), y.split(100)):
            loss = nn.functional.cross_entropy(model(xb), yb)
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(f"epoch {e}: train loss {loss.item():.4f}")


def accuracy(model, x, y):
    with torch.no_grad():
        return (model(x).argmax(1) == y).float().mean().item()


torch.manual_seed(0)
x_train, y_train, x_test, y_test = load()
x_train, x_test = standardise(x_train, x_test)
model = nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, 2))
train(model, x_train, y_train, 4)
print("test accuracy", accuracy(model, x_test, y_test))
