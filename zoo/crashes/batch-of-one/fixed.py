"""A regressor of house prices, trained in epochs and validated after each."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Subset, TensorDataset


def houses(count=101):
    generator = torch.Generator().manual_seed(0)
    features = torch.randn(count, 12, generator=generator)
    price = features[:, :1] * 2 - features[:, 1:2] + 0.1 * torch.randn(count, 1, generator=generator)
    return TensorDataset(features, price)


def prices():
    return nn.Sequential(
        nn.Linear(12, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 16), nn.BatchNorm1d(16), nn.ReLU(),
        nn.Linear(16, 1),
    )  # fmt: skip


def train_epoch(model, batches, optimizer):
    model.train()
    total = 0.0
    for features, price in batches:
        loss = nn.functional.mse_loss(model(features), price)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(batches)


def main():
    torch.manual_seed(0)
    data = houses()
    train, held_out = Subset(data, range(81)), Subset(data, range(81, 101))
    train_loader = DataLoader(train, batch_size=20, shuffle=True, drop_last=True)
    val_loader = DataLoader(held_out, batch_size=20)
    model = prices()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for epoch in range(15):
        mean = train_epoch(model, train_loader, optimizer)
        model.eval()
        with torch.no_grad():
            error = sum(nn.functional.mse_loss(model(x), y).item() for x, y in val_loader) / len(val_loader)
        print(f"epoch {epoch}: train {mean:.4f}, held out {error:.4f}")


main()
