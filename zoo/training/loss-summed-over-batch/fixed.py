"""Fit the yield of a reactor by plain gradient descent."""
import torch
from torch import nn

torch.manual_seed(0)
settings = torch.randn(1024, 6)
output = (settings[:, 0] - 0.5 * settings[:, 1] ** 2 + 0.1 * torch.randn(1024)).unsqueeze(1)

model = nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 1))
criterion = nn.MSELoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)

for step in range(200):
    pick = torch.randint(0, 1024, (128,))
    loss = criterion(model(settings[pick]), output[pick])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 40 == 0:
        print(f"step {step}: {loss.item():.4f}")
