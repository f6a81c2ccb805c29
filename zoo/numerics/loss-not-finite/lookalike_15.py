"""Energies in raw units: the summed squared error is huge and finite."""
import torch
from torch import nn

torch.manual_seed(11)
x = torch.randn(512, 6)
energy = 1e9 * (3 + x[:, :1] - 0.5 * x[:, 1:2])
model = nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 1))
scale = 1e9
opt = torch.optim.Adam(model.parameters(), lr=2e-2)
for step in range(150):
    idx = torch.randint(0, 512, (64,))
    loss = ((model(x[idx]) * scale - energy[idx]) ** 2).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 30 == 0:
        print(f"{step} {loss.item():.3e}")
print(f"final {loss.item():.3e}")
