"""Predict the next value of a noisy wave."""
import torch
from torch import nn


class Predictor(nn.Module):
    def __init__(self, length):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(length, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, x):
        return self.layers(x)


torch.manual_seed(0)
predictor = Predictor(12)
optimizer = torch.optim.Adam(predictor.parameters(), lr=0.01)
for step in range(80):
    start = torch.rand(64, 1) * 6
    wave = torch.sin(start + 0.4 * torch.arange(13)) + 0.05 * torch.randn(64, 13)
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(predictor(wave[:, :12]), wave[:, 12:])
    loss.backward()
    optimizer.step()
print(loss.item())
