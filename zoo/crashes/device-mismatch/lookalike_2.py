"""A dry run on the meta device that asks for a value."""
import torch
import torch.nn as nn

model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 1)).to("meta")
criterion = nn.MSELoss()
for step in range(5):
    x = torch.empty(64, 10, device="meta")
    y = torch.empty(64, 1, device="meta")
    loss = criterion(model(x), y)
    print(step, tuple(loss.shape), loss.item())
