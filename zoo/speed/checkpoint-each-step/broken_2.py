# Two-moons classifier with a Trainer class; checkpoints go through a method of it.
import math
import os

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def moons(n, noise=0.1):
    angle = torch.rand(n) * math.pi
    label = torch.randint(0, 2, (n,))
    x = torch.where(label == 0, angle.cos(), 1 - angle.cos())
    y = torch.where(label == 0, angle.sin(), 0.5 - angle.sin())
    return torch.stack([x, y], dim=1) + noise * torch.randn(n, 2), label


class Trainer:
    def __init__(self, model, loader, folder):
        self.model = model
        self.loader = loader
        self.folder = folder
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        self.criterion = nn.CrossEntropyLoss()

    def save(self):
        os.makedirs(self.folder, exist_ok=True)
        state = {"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict()}
        torch.save(state, os.path.join(self.folder, "last.ckpt"))

    def fit(self, epochs):
        for epoch in range(epochs):
            total = 0.0
            for i, (points, labels) in enumerate(self.loader):
                self.optimizer.zero_grad()
                loss = self.criterion(self.model(points), labels)
                loss.backward()
                self.optimizer.step()
                self.save()
                total += loss.item()
            print(f"epoch {epoch + 1}: loss {total / len(self.loader):.4f}")


torch.manual_seed(1)
points, labels = moons(3200)
net = nn.Sequential(nn.Linear(2, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 2))
Trainer(net, DataLoader(TensorDataset(points, labels), batch_size=64, shuffle=True), "checkpoints").fit(8)
