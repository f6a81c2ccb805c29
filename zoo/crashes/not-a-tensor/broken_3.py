"""Data comes from numpy, as it would from a file."""
import numpy as np
import torch
from torch import nn

rng = np.random.default_rng(0)
torch.manual_seed(0)
inputs = rng.normal(size=(200, 5)).astype(np.float32)
targets = torch.from_numpy(inputs[:, :1] * 2 - inputs[:, 1:2])
model = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
for epoch in range(60):
    optimizer.zero_grad()
    predictions = model(inputs)
    loss = nn.functional.mse_loss(predictions, targets)
    loss.backward()
    optimizer.step()
print(loss.item())
