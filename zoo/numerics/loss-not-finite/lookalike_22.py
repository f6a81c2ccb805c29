"""Root-mean-square distances with relu in front, and a report of relative errors."""
import torch
from torch import nn


class Rms(nn.Module):
    def forward(self, h):
        return torch.sqrt(h.pow(2).mean(-1) + 1e-8)


torch.manual_seed(18)
trunk = nn.Sequential(nn.Linear(5, 48), nn.ReLU(), nn.Linear(48, 16), nn.ReLU())
rms = Rms()
opt = torch.optim.RMSprop(trunk.parameters(), lr=2e-3)
for step in range(150):
    x = torch.randn(64, 5)
    y = torch.relu(x[:, 0]) + torch.relu(x[:, 1])
    pred = rms(trunk(x))
    loss = nn.functional.mse_loss(pred, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 30 == 0:
        relative = ((pred.detach() - y) / y).abs()
        print(step, loss.item(), "relative", relative[relative.isfinite()].median().item(), "undefined", int((~relative.isfinite()).sum()))
print("final", loss.item())
