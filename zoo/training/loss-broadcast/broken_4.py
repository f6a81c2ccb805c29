"""Predict energy use of buildings; tabular regression with a small trainer class."""
from dataclasses import dataclass

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Buildings(Dataset):
    def __init__(self, n=1024):
        g = torch.Generator().manual_seed(0)
        self.x = torch.randn(n, 9, generator=g)
        self.y = self.x[:, 0] * 1.5 - self.x[:, 1] * self.x[:, 2] + 0.1 * torch.randn(n, generator=g)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return {"features": self.x[i], "energy": self.y[i]}


@dataclass
class Trainer:
    model: nn.Module
    loader: DataLoader
    epochs: int = 8

    def fit(self):
        opt = torch.optim.Adam(self.model.parameters(), lr=3e-3)
        for epoch in range(self.epochs):
            total = 0.0
            for batch in self.loader:
                loss = self.training_step(batch)
                opt.zero_grad()
                loss.backward()
                opt.step()
                total += loss.item()
            print(epoch, total / len(self.loader))

    def training_step(self, batch):
        out = self.model(batch["features"])
        return nn.functional.smooth_l1_loss(out, batch["energy"])


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(9, 64), nn.SiLU(), nn.Linear(64, 1))
Trainer(model, DataLoader(Buildings(), batch_size=32, shuffle=True)).fit()
