"""Regression whose error is clipped, so that outliers count less."""
import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(0)
rng = np.random.default_rng(0)
x = torch.randn(256, 5)
y = x @ torch.tensor([1.0, -2.0, 0.5, 0.0, 3.0]) + torch.from_numpy(rng.standard_t(2, 256)).float() * 0.1
model = nn.Linear(5, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

for step in range(100):
    prediction = model(x).squeeze(1)
    error = (prediction - y).detach().numpy()
    clipped = torch.from_numpy(np.clip(error, -4, 4))
    loss = (clipped**2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(f"step {step} loss {loss.item():.4f}")
