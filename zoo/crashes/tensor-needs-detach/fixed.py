"""Regression with the correlation of prediction and target printed by numpy."""
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
    if epoch % 10 == 0:
        guess = prediction.squeeze(1).detach().numpy()
        print(f"epoch {epoch} correlation {np.corrcoef(guess, y.squeeze(1).numpy())[0, 1]:.2f}")
