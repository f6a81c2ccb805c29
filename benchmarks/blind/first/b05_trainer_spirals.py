import math

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def spirals(n_per_class, classes=3, noise=0.15, seed=0):
    g = torch.Generator().manual_seed(seed)
    xs, ys = [], []
    for c in range(classes):
        r = torch.linspace(0.1, 1, n_per_class)
        t = torch.linspace(c * 2 * math.pi / 3, c * 2 * math.pi / 3 + 3.0, n_per_class)
        t = t + noise * torch.randn(n_per_class, generator=g)
        xs.append(torch.stack([r * torch.sin(t), r * torch.cos(t)], 1))
        ys.append(torch.full((n_per_class,), c))
    x, y = torch.cat(xs), torch.cat(ys)
    x = (x - x.mean(0)) / x.std(0)
    perm = torch.randperm(len(x), generator=g)
    return x[perm], y[perm]


class Trainer:
    def __init__(self, model, optimizer, criterion, train_loader, val_loader):
        self.model = model
        self.optimizer = optimizer
        self.criterion = criterion
        self.train_loader = train_loader
        self.val_loader = val_loader
        self.history = []

    def train_step(self, x, y):
        out = self.model(x)
        loss = self.criterion(out, y)
        loss.backward()
        self.optimizer.step()
        return loss.item()

    @torch.no_grad()
    def validate(self):
        self.model.eval()
        correct = total = 0
        loss = 0.0
        for x, y in self.val_loader:
            out = self.model(x)
            loss += self.criterion(out, y).item() * len(y)
            correct += (out.argmax(1) == y).sum().item()
            total += len(y)
        return loss / total, correct / total

    def fit(self, epochs):
        for epoch in range(epochs):
            self.model.train()
            losses = [self.train_step(x, y) for x, y in self.train_loader]
            val_loss, val_acc = self.validate()
            self.history.append((sum(losses) / len(losses), val_loss, val_acc))
            print("epoch %d train %.4f val %.4f acc %.3f" % (epoch, *self.history[-1]))


if __name__ == "__main__":
    torch.manual_seed(0)
    x, y = spirals(400)
    train = TensorDataset(x[:900], y[:900])
    val = TensorDataset(x[900:], y[900:])
    model = nn.Sequential(
        nn.Linear(2, 64), nn.ReLU(),
        nn.Linear(64, 64), nn.ReLU(),
        nn.Linear(64, 3),
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    trainer = Trainer(
        model, optimizer, nn.CrossEntropyLoss(),
        DataLoader(train, batch_size=30, shuffle=True),
        DataLoader(val, batch_size=100),
    )
    trainer.fit(12)
