"""Imitate a controller whose torque is limited by a clamp; the error is written out."""
import torch
from torch import nn


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
        self.torque = nn.Linear(64, 1)

    def forward(self, obs):
        return 2 * torch.tanh(self.torque(self.body(obs)))


def imitation_loss(predicted, wanted):
    gap = wanted - predicted
    return (gap**2).mean()


torch.manual_seed(0)
actor = Actor()
opt = torch.optim.Adam(actor.parameters(), lr=1e-3)
for i in range(300):
    angle = torch.rand(64, 1) * 6.28 - 3.14
    speed = torch.randn(64, 1)
    obs = torch.cat([angle.cos(), angle.sin(), speed], 1)
    torque = (-4 * angle - 0.8 * speed).clamp(-2, 2)
    loss = imitation_loss(actor(obs), torque)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if i % 60 == 0:
        print(i, loss.item())
