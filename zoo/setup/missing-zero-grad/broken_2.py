"""Predict house prices from tabular features (synthetic)."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class PriceNet(nn.Module):
    def __init__(self, n_features, hidden=48):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(n_features, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh()
        )
        self.out = nn.Linear(hidden, 1)

    def forward(self, x):
        return self.out(self.body(x)).squeeze(-1)


class Trainer:
    def __init__(self, model, loader, lr=3e-3):
        self.model = model
        self.loader = loader
        self.optim = torch.optim.Adam(model.parameters(), lr=lr)
        self.loss_fn = nn.MSELoss()

    def fit(self, epochs):
        self.model.train()
        for epoch in range(epochs):
            total = 0.0
            self.optim.zero_grad()
            for features, price in self.loader:
                loss = self.loss_fn(self.model(features), price)
                loss.backward()
                self.optim.step()
                total += loss.item() * len(price)
            print("epoch %d: train mse %.4f" % (epoch + 1, total / len(self.loader.dataset)))


def make_data(n=1280, n_features=10):
    features = torch.randn(n, n_features)
    w = torch.randn(n_features)
    price = features @ w + 2.0 * torch.sin(features[:, 0] * features[:, 1]) + 0.1 * torch.randn(n)
    return TensorDataset(features, (price - price.mean()) / price.std())


def main():
    torch.manual_seed(1)
    loader = DataLoader(make_data(), batch_size=32, shuffle=True)
    Trainer(PriceNet(10), loader).fit(epochs=8)


if __name__ == "__main__":
    main()
