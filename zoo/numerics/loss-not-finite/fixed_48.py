"""Denoising autoencoder; dead pixels are NaN in the raw frames."""
import torch
from torch import nn


class AE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(72, 48), nn.ReLU())
        self.dec = nn.Sequential(nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 36))

    def forward(self, frames):
        dead = frames.isnan()
        x = torch.cat([frames.nan_to_num(0.0), dead.float()], 1)
        return self.dec(self.enc(x))


torch.manual_seed(19)
basis = torch.randn(4, 36)
model = AE()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(60):
    raw = torch.randn(64, 4) @ basis
    raw[torch.rand(64, 36) < 0.05] = float("nan")
    err = torch.where(raw.isnan(), 0.0, model(raw) - raw.nan_to_num()).square()
    loss = err.mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 10 == 0:
        print(step, loss.item())
