"""Regression trainer that reports the mean loss of an epoch."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class Trainer:
    def __init__(self, model, lr=1e-2):
        self.model = model
        self.opt = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)

    def train_epoch(self, loader):
        total = 0.0
        for features, target in loader:
            self.opt.zero_grad()
            loss = F.mse_loss(self.model(features).squeeze(1), target)
            loss.backward()
            self.opt.step()
            total = total + loss.item()
        return total / len(loader)


def main():
    torch.manual_seed(3)
    x = torch.randn(3200, 10)
    y = x @ torch.randn(10) + 0.1 * torch.randn(3200)
    loader = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)
    trainer = Trainer(nn.Sequential(nn.Linear(10, 32), nn.Tanh(), nn.Linear(32, 1)))
    for epoch in range(4):
        mean = trainer.train_epoch(loader)
        print(f"epoch {epoch}: {mean:.4f}")


if __name__ == "__main__":
    main()
