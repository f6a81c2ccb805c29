"""Predictions taken to numpy the right way."""
import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 24), nn.Tanh(), nn.Linear(24, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
x = torch.randn(256, 4)
y = x[:, :1] * x[:, 1:2]
for epoch in range(60):
    prediction = model(x)
    loss = nn.functional.mse_loss(prediction, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if epoch % 20 == 0:
        print(np.abs(prediction.detach().numpy() - y.numpy()).mean())
