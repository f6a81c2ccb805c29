"""Predict counts, which are never negative: a ReLU as the output is a choice."""
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 48), nn.ReLU(), nn.Linear(48, 1), nn.ReLU())
with torch.no_grad():
    net[2].bias.fill_(1.0)
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
w = torch.rand(6, 1)
for step in range(300):
    x = torch.rand(64, 6)
    counts = (5 * x @ w).round()
    loss = nn.functional.mse_loss(net(x), counts)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
