"""Reconstruction with the squared error of every pixel at hand."""
import torch
import torch.nn as nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(16, 6), nn.ReLU(), nn.Linear(6, 16))
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
basis = torch.randn(3, 16)

for step in range(150):
    x = torch.randn(64, 3) @ basis
    loss = criterion(model(x), x)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 30 == 0:
        print(f"step {step} loss {loss.mean().item():.3f}")
