"""Regression on many rows at once, full batch."""
import torch
import torch.nn as nn

torch.manual_seed(0)
rows = 400_000
features = torch.randn(rows, 6)
targets = features @ torch.randn(6) + 0.1 * torch.randn(rows)

model = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)

for step in range(20):
    predictions = model(features)
    loss = ((predictions - targets) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, round(loss.item(), 3))
