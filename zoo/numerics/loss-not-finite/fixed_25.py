"""Half-precision autocast on the CPU, regression on raw magnitudes."""
import torch
from torch import nn


class Tower(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp = nn.Linear(64, 256)
        self.mid = nn.Linear(256, 256)
        self.out = nn.Linear(256, 1)

    def forward(self, x):
        x = torch.relu(self.inp(x.log1p()))
        x = torch.relu(self.mid(x))
        return self.out(x)


torch.manual_seed(14)
model = Tower()
opt = torch.optim.SGD(model.parameters(), lr=1e-2)
x_all = torch.rand(512, 64) * 100
x_all[300:] *= 600
y_all = torch.log1p(x_all.mean(1, keepdim=True))

for step in range(32):
    i = step % 16 * 32
    xb, yb = x_all[i:i + 32], y_all[i:i + 32]
    with torch.autocast("cpu", dtype=torch.float16):
        out = model(xb)
    loss = nn.functional.huber_loss(out.float(), yb)
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    if step % 4 == 0:
        print(step, loss.item())
