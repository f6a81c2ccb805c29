"""Polynomial regression by plain SGD."""
import torch
from torch import nn

torch.manual_seed(0)

x = torch.linspace(-2, 2, 400).unsqueeze(1)
y = 0.5 * x**3 - x + 0.1 * torch.randn_like(x)
features = torch.cat([x, x**2, x**3], dim=1)

model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.03)
loss_fn = nn.MSELoss()

for epoch in range(150):
    optimizer.zero_grad()
    loss = loss_fn(model(features), y)
    loss.backward()
    optimizer.step()
    if epoch % 10 == 0:
        print(f"epoch {epoch:3d}  loss {loss.item():.4g}")
