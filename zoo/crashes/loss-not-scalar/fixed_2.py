"""Fits a curve with a squared error written out."""
import torch
import torch.nn as nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
x = torch.linspace(-2, 2, 128).unsqueeze(1)
y = torch.sin(2 * x)

for step in range(150):
    optimizer.zero_grad()
    residual = model(x) - y
    loss = residual**2
    loss.mean().backward()
    optimizer.step()
    if step % 30 == 0:
        print(f"step {step} worst {residual.abs().max().item():.3f}")
