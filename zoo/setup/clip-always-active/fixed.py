"""Fit a small network to a polynomial with SGD and clipped gradients."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Regressor(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(5, 64), nn.Tanh(), nn.Linear(64, 1))

    def forward(self, x):
        return self.layers(x).squeeze(1)


def train(model, loader, epochs, clip):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
    for epoch in range(epochs):
        total = 0.0
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x), y)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), clip)
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch}: loss {total / len(loader):.4f}")


torch.manual_seed(0)
x = torch.randn(800, 5)
y = 2.0 * x[:, 0] - x[:, 1] * x[:, 2] + 3.0
train(Regressor(), DataLoader(TensorDataset(x, y), batch_size=40, shuffle=True), epochs=10, clip=5.0)
