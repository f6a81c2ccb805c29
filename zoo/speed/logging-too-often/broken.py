"""Regression of a wavy surface with a small MLP, gradients printed along the way."""
import torch
from torch import nn

torch.manual_seed(0)
x = torch.rand(2048, 4) * 2 - 1
y = torch.sin(3 * x[:, :1]) * x[:, 1:2] + 0.5 * x[:, 2:3] ** 2 + 0.02 * torch.randn(2048, 1)

model = nn.Sequential(nn.Linear(4, 96), nn.ReLU(), nn.Linear(96, 96), nn.ReLU(), nn.Linear(96, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
criterion = nn.MSELoss()

for step in range(400):
    index = torch.randint(0, 2048, (128,))
    loss = criterion(model(x[index]), y[index])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print("step", step, "loss", loss.item(), "gradients", model[2].weight.grad, model[0].weight.grad)
