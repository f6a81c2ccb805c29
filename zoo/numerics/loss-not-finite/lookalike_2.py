"""Sensor data with missing readings (NaN): filled before the model, masked in the loss."""
import numpy as np
import torch
from torch import nn

rng = np.random.default_rng(0)
clean = np.cumsum(rng.normal(size=(500, 8)), axis=1).astype(np.float32)
readings = clean.copy()
readings[rng.random(readings.shape) < 0.15] = np.nan

x = torch.from_numpy(readings)
known = ~torch.isnan(x)
filled = torch.nan_to_num(x, nan=0.0)

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 8))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(12):
    for rows in torch.randperm(500).split(50):
        inputs = torch.cat([filled[rows], known[rows].float()], dim=1)
        error = torch.nan_to_num(model(inputs) - x[rows])
        loss = (error**2).sum() / known[rows].sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("epoch", epoch, "masked mse", round(loss.item(), 4))
