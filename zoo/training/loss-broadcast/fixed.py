"""Predict a car's fuel consumption from a few features."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class Cars(Dataset):
    def __init__(self, n=1024):
        generator = torch.Generator().manual_seed(0)
        self.x = torch.randn(n, 7, generator=generator)
        weight, power = self.x[:, 0], self.x[:, 1]
        self.y = 8 + 2.5 * weight + 1.5 * power + 0.7 * weight * power

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


torch.manual_seed(0)
loader = DataLoader(Cars(), batch_size=64, shuffle=True)
model = nn.Sequential(nn.Linear(7, 64), nn.ReLU(), nn.Linear(64, 1))
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

for epoch in range(12):
    running = 0.0
    for features, consumption in loader:
        optimizer.zero_grad()
        prediction = model(features).squeeze(1)
        loss = criterion(prediction, consumption)
        loss.backward()
        optimizer.step()
        running += loss.item()
    print(f"epoch {epoch:2d}: mse {running / len(loader):.3f}")
