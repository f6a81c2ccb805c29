"""bfloat16 autocast, a binary head trained with a hand-written likelihood."""
import torch
from torch import nn


class Gate(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(20, 64), nn.GELU(), nn.Linear(64, 1))

    def forward(self, x):
        return torch.sigmoid(self.body(x)).squeeze(-1)


def nll(p, y):
    return -(y * torch.log(p.clamp_min(1e-8)) + (1 - y) * torch.log((1 - p).clamp_min(1e-8))).mean()


torch.manual_seed(30)
model = Gate()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
ema = None
direction = torch.randn(20)
for step in range(200):
    x = torch.randn(64, 20)
    y = (x @ direction > 0).float()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        p = model(x)
        loss = nll(p, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    ema = loss.item() if ema is None else 0.9 * ema + 0.1 * loss.item()
    if step % 20 == 0:
        print(step, ema)
