"""Steering angles by tanh, scaled to degrees behind it; and brightness by sigmoid, with targets in its range."""
import torch
import torch.nn.functional as F
from torch import nn


class Driver(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 32), nn.ReLU())
        self.steer = nn.Linear(32, 1)
        self.light = nn.Linear(32, 1)

    def forward(self, x):
        h = self.body(x)
        return 30 * torch.tanh(self.steer(h)), torch.sigmoid(self.light(h))


torch.manual_seed(1)
net = Driver()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for step in range(250):
    x = torch.randn(64, 6)
    angle = 25 * torch.sin(x[:, :1])
    light = (0.5 + 0.3 * x[:, 1:2] + 0.02 * torch.randn(64, 1)).clamp(-0.05, 1.05)
    steer, brightness = net(x)
    loss = F.mse_loss(steer, angle) / 100 + F.mse_loss(brightness, light)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 50 == 0:
        print(step, round(loss.item(), 4))
