"""Prices with a mean in the hundreds, which the bias of the output layer starts with."""
import torch
from torch import nn

torch.manual_seed(3)
net = nn.Sequential(nn.Linear(5, 48), nn.ReLU(), nn.Linear(48, 1))
with torch.no_grad():
    net[2].bias.fill_(450.0)
    net[2].weight.mul_(100)
opt = torch.optim.Adam(net.parameters(), lr=2e-2)
for step in range(300):
    x = torch.randn(80, 5)
    price = 450 + 40 * x[:, :1] - 25 * x[:, 1:2].abs()
    loss = nn.functional.mse_loss(net(x), price)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 60 == 0:
        print(step, round(loss.item(), 2))
