"""Mean squared error between a model and noisy targets, batch by batch."""
import torch
from torch import nn

torch.manual_seed(0)
criterion = nn.MSELoss()
model = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
for i in range(60):
    x = torch.randn(64, 3)
    y = x[:, :1] - x[:, 2:] + 0.1 * torch.randn(64, 1)
    loss = criterion(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if i % 20 == 0:
        print(i, loss.item())
