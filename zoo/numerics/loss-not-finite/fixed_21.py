"""Predict the speed of a vehicle from a short track."""
import torch
from torch import nn


class Speed(nn.Module):
    def __init__(self, dead_zone=0.25):
        super().__init__()
        self.gru = nn.GRU(2, 24, batch_first=True)
        self.xy = nn.Linear(24, 2)
        self.dead_zone = dead_zone

    def forward(self, track):
        _, h = self.gru(track)
        v = self.xy(h[-1])
        v = v * (v.abs() > self.dead_zone)
        return (v[:, 0].pow(2) + v[:, 1].pow(2) + 1e-8).sqrt()


def tracks(n, t=6):
    angle = torch.rand(n) * 2 * torch.pi
    speed = torch.rand(n) + 0.2
    d = torch.stack([angle.cos(), angle.sin()], 1) * speed[:, None]
    return (d[:, None] + 0.1 * torch.randn(n, t, 2)).cumsum(1), speed


torch.manual_seed(33)
model = Speed()
opt = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=1e-2)
for step in range(60):
    x, s = tracks(48)
    loss = (model(x) - s).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 10 == 0:
        print(f"{step} {loss.item():.4f}")
