"""Predict wear from readings and running hours in bfloat16, which has room for far larger numbers."""
import torch
from torch import nn


class Wear(nn.Module):
    def __init__(self):
        super().__init__()
        self.sensors = nn.Linear(6, 64)
        self.hours = nn.Linear(1, 64, bias=False)
        self.norm = nn.LayerNorm(64)
        self.head = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, readings, hours):
        x = self.sensors(readings) + self.norm(self.hours(hours).float())
        return self.head(x.float())


torch.manual_seed(0)
model = Wear()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
weights = torch.randn(6, 1) / 2
for step in range(1, 301):
    hours = torch.full((128, 1), 250.0 * step) + 24 * torch.rand(128, 1)
    readings = torch.randn(128, 6)
    wear = torch.tanh(readings @ weights)
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = nn.functional.mse_loss(model(readings, hours).float(), wear)
    loss.backward()
    optimizer.step()
    if step % 30 == 0:
        print(f"step {step}: loss {loss.item():.4f}")
