"""A noisy data source: batches with a broken reading are skipped."""
import torch
from torch import nn

torch.manual_seed(9)


def stream(n):
    for _ in range(n):
        x = torch.randn(32, 5)
        if torch.rand(()) < 0.06:
            x[torch.randint(0, 32, (1,)), 2] = float("nan")
        yield x, torch.sin(x[:, :1]) + x[:, 1:2]


model = nn.Sequential(nn.Linear(5, 64), nn.Tanh(), nn.Linear(64, 1))
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
skipped = 0
last = None
for k, (x, y) in enumerate(stream(180)):
    target = torch.where(torch.isnan(y), torch.zeros_like(y), y)
    loss = nn.functional.mse_loss(model(x), target)
    if not loss.isfinite():
        skipped += 1
        continue
    opt.zero_grad()
    loss.backward()
    opt.step()
    last = loss.item()
    if k % 30 == 0:
        print(k, last, "skipped", skipped)
print("final", last, "skipped", skipped)
