"""Forecasting with a capped relative error."""
import torch
from torch import nn


class CappedRelative(nn.Module):
    def __init__(self, cap=5.0):
        super().__init__()
        self.cap = cap

    def forward(self, pred, target):
        rel = (pred - target).abs() / target
        return rel.clamp(max=self.cap).mean()


class Forecaster(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(1, 16, batch_first=True)
        self.out = nn.Linear(16, 1)

    def forward(self, s):
        return nn.functional.softplus(self.out(self.rnn(s)[0][:, -1])).squeeze(1)


def sales(n, g):
    level = torch.rand(n, 1, generator=g) * 6 + 4
    return torch.poisson(level.expand(n, 9), generator=g)


g = torch.Generator().manual_seed(12)
torch.manual_seed(12)
model, criterion = Forecaster(), CappedRelative()
opt = torch.optim.Adam(model.parameters(), lr=2e-2)
for week in range(50):
    s = sales(32, g)
    loss = criterion(model(s[:, :8, None]), s[:, 8])
    opt.zero_grad()
    loss.backward()
    opt.step()
    if week % 10 == 0:
        print(week, loss.item())
