"""Predict daily temperature anomalies (they may be negative) from weather features."""
import torch
import torch.nn as nn


class Forecast(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(8, 32)
        self.out = nn.Linear(32, 1)
        self.act = nn.ReLU()

    def forward(self, x):
        x = self.act(self.hidden(x))
        return self.act(self.out(x))


torch.manual_seed(0)
weights = torch.randn(8, 1)
model = Forecast()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
loss_fn = nn.MSELoss()

for step in range(300):
    x = torch.randn(64, 8)
    y = torch.tanh(x @ weights) + 0.05 * torch.randn(64, 1)
    loss = loss_fn(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 100 == 99:
        print(f"step {step + 1} loss {loss.item():.4f}")
