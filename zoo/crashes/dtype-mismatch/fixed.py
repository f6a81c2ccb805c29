"""Predict concrete strength from numpy measurements."""
import numpy as np
import torch
import torch.nn as nn


class StrengthNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(8, 32)
        self.fc2 = nn.Linear(32, 1)

    def forward(self, x):
        return self.fc2(torch.relu(self.fc1(x)))


rng = np.random.default_rng(0)
torch.manual_seed(0)
X = rng.normal(size=(500, 8))
strength = X[:, :1] * 2 - X[:, 1:2] + 0.1 * rng.normal(size=(500, 1))

inputs = torch.from_numpy(X).float()
targets = torch.from_numpy(strength).float()

net = StrengthNet()
loss_fn = nn.MSELoss()
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
for epoch in range(150):
    optimizer.zero_grad()
    loss = loss_fn(net(inputs), targets)
    loss.backward()
    optimizer.step()
    if epoch % 25 == 0:
        print(f"epoch {epoch:3d} mse {loss.item():.4f}")
