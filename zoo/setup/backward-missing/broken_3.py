"""Fit a sum of cosines; the fit is printed every twenty steps."""
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(4)
xs = torch.linspace(-3, 3, 200).unsqueeze(1)
ys = torch.cos(2 * xs) + 0.5 * torch.cos(5 * xs)
net = nn.Sequential(nn.Linear(1, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)

loss = F.mse_loss(net(xs), ys)
loss.backward()
for step in range(200):
    optimizer.step()
    with torch.no_grad():
        loss = F.mse_loss(net(xs), ys)
    if step % 20 == 0:
        print(f"{step:3d} {loss.item():.4f}")
