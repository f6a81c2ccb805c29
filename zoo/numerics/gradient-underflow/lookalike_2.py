"""Restore spectra in bfloat16 without a scaler; the small weight of the loss makes all gradients tiny."""
import torch
from torch import nn

WEIGHT = 1e-4

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 96), nn.ReLU(), nn.Linear(96, 96), nn.ReLU(), nn.Linear(96, 128))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3, eps=1e-12)
lines = torch.randn(8, 128) / 3

for step in range(1, 201):
    x = torch.randn(64, 8)
    spectrum = torch.tanh(x) @ lines
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = WEIGHT * nn.functional.mse_loss(model(x), spectrum)
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(f"step {step}: error {loss.item() / WEIGHT:.4f}")
