"""A tiny volume renderer: fit densities and colours along rays."""
import torch
from torch import nn


class Field(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, 2))

    def forward(self, pts):
        sigma, colour = self.net(pts).unbind(-1)
        return nn.functional.softplus(sigma) * 12, torch.sigmoid(colour)


def render(sigma, colour, delta):
    alpha = 1 - torch.exp(-sigma * delta)
    log_free = torch.log((1 - alpha).clamp_min(1e-8))
    shifted = torch.cat([torch.zeros_like(log_free[:, :1]), log_free[:, :-1]], dim=1)
    weight = alpha * torch.exp(torch.cumsum(shifted, dim=1))
    return (weight * colour).sum(1)


torch.manual_seed(0)
field = Field()
opt = torch.optim.Adam(field.parameters(), lr=5e-3)
for step in range(50):
    origin = torch.rand(64, 1) * 2 - 1
    t = torch.linspace(0, 2, 16)
    pts = torch.stack([origin.expand(-1, 16), t.expand(64, 16)], dim=-1)
    delta = torch.full((16,), 2 / 15)
    delta[-1] = 1e10
    target = (origin.squeeze(1) > 0).float()
    loss = (render(*field(pts), delta) - target).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 10 == 0:
        print(step, loss.item())
