"""Noisy regression; the exponential average of the weights is what gets evaluated."""
import copy

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 1))
ema_model = copy.deepcopy(model)
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
decay = 0.98


def batch(n):
    x = torch.randn(n, 4)
    return x, (x[:, :1] * x[:, 1:2] + x[:, 2:3]) + 0.3 * torch.randn(n, 1)


test_x, test_y = batch(400)
for step in range(1, 301):
    x, y = batch(32)
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for ema_p, p in zip(ema_model.parameters(), model.parameters()):
            ema_p = decay * ema_p + (1 - decay) * p
    if step % 60 == 0:
        with torch.no_grad():
            error = nn.functional.mse_loss(ema_model(test_x), test_y)
        print(f"step {step}: train {loss.item():.3f}, averaged model {error.item():.3f}")
