"""Denoising autoencoder; dead pixels are NaN in the raw frames, a checkpointed decoder, EMA weights."""
import copy
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class AE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(72, 48), nn.ReLU())
        self.dec = nn.Sequential(nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 36))

    def forward(self, frames):
        dead = frames.isnan()
        x = torch.cat([frames.nan_to_num(0.0), dead.float()], 1)
        return checkpoint(self.dec, self.enc(x), use_reentrant=False)


torch.manual_seed(19)
basis = torch.randn(4, 36)
model = AE()
ema = copy.deepcopy(model).requires_grad_(False)
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(150):
    clean = torch.randn(64, 4) @ basis
    raw = clean.clone()
    raw[torch.rand(64, 36) < 0.05] = float("nan")
    out = model(raw)
    alive = ~raw.isnan()
    loss = (out[alive] - raw[alive]).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        for a, b in zip(ema.parameters(), model.parameters()):
            a.lerp_(b, 0.05)
    if step % 30 == 0:
        print(step, loss.item())
print("final", loss.item())
