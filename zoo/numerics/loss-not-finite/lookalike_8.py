"""Counts regression with a guarded logarithm."""
import torch
from torch import nn

torch.manual_seed(4)


def safe_log(x):
    ok = x > 0
    inner = torch.where(ok, x, torch.ones_like(x))
    return torch.where(ok, torch.log(inner), torch.zeros_like(x))


class Rates(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 64), nn.ReLU(), nn.Linear(64, 2))

    def forward(self, x):
        gate = (x[:, :2] > -1).float()
        return safe_log(gate * nn.functional.softplus(self.body(x)))


model = Rates()
w = torch.randn(6, 2)
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(150):
    x = torch.randn(64, 6)
    target = torch.where(x[:, :2] > -1, (x @ w) * 0.5, torch.zeros(64, 2))
    loss = nn.functional.smooth_l1_loss(model(x), target)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 30 == 0:
        print(step, loss.item())
print("final", loss.item())
