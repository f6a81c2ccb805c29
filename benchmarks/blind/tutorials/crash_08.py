"""Predicts house prices from a numpy table."""
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


def load_table(rows=1500, seed=0):
    rng = np.random.default_rng(seed)
    area = rng.uniform(30, 200, rows)
    rooms = np.clip(np.round(area / 28 + rng.normal(0, 0.7, rows)), 1, 9)
    age = rng.uniform(0, 90, rows)
    dist = rng.exponential(6.0, rows)
    price = 2.4 * area + 11 * rooms - 0.7 * age - 5 * np.sqrt(dist) + rng.normal(0, 8, rows)
    return np.stack([area, rooms, age, dist], axis=1), price


class TableDataset(Dataset):
    def __init__(self, features, price):
        self.x = (features - features.mean(0)) / features.std(0)
        self.y = (price - price.mean()) / price.std()

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        row = torch.from_numpy(self.x[i])
        target = torch.tensor(self.y[i], dtype=torch.float32)
        return row, target


class PriceNet(nn.Module):
    def __init__(self, n_features):
        super().__init__()
        self.bn = nn.BatchNorm1d(32)
        self.a, self.b = nn.Linear(n_features, 32), nn.Linear(32, 1)

    def forward(self, x):
        return self.b(torch.relu(self.bn(self.a(x)))).squeeze(1)


def main():
    torch.set_num_threads(1)
    torch.manual_seed(7)
    loader = DataLoader(TableDataset(*load_table()), batch_size=50, shuffle=True)
    net = PriceNet(4)
    optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
    huber = nn.SmoothL1Loss()
    for epoch in range(10):
        losses = []
        for row, target in loader:
            optimizer.zero_grad()
            loss = huber(net(row), target)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        print(f"epoch {epoch} huber {sum(losses) / len(losses):.4f}")


if __name__ == "__main__":
    main()
