"""Panel data with ragged histories padded by NaN, summarised with nanmean."""
import torch
from torch import nn

torch.manual_seed(3)


def panel(n):
    level = torch.randn(n, 1)
    series = level + 0.5 * torch.randn(n, 15)
    lengths = torch.randint(3, 16, (n, 1))
    series[torch.arange(15).expand(n, 15) >= lengths] = float("nan")
    return series, level


class Summary(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 1))

    def forward(self, s):
        ok = ~torch.isnan(s)
        mean = torch.nanmean(s, dim=1, keepdim=True)
        last = s.nan_to_num(0.0).gather(1, ok.sum(1, keepdim=True) - 1)
        return self.net(torch.cat([mean, last, ok.sum(1, keepdim=True) / 15], dim=1))


model = Summary()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(150):
    s, level = panel(64)
    loss = (model(s) - level).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 30 == 0:
        print(step, loss.item())
print("final", loss.item())
