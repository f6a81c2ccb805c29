"""Churn prediction: a logit per customer and BCEWithLogitsLoss."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Churn(nn.Module):
    def __init__(self, features=9):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(features, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, x):
        return self.layers(x)


def fit(model, loader, epochs):
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    criterion = nn.BCEWithLogitsLoss()
    for epoch in range(epochs):
        for x, churned in loader:
            loss = criterion(model(x).squeeze(1), churned)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print("Epoch {}: {:.4f}".format(epoch, loss.item()))


if __name__ == "__main__":
    torch.manual_seed(11)
    x = torch.randn(1000, 9)
    churned = (x[:, 0] + x[:, 1] * x[:, 2] > 0).float()
    fit(Churn(), DataLoader(TensorDataset(x, churned), batch_size=50, shuffle=True), epochs=10)
