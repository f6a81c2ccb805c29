"""Fits a curve with a compiled model that is told which batch it gets."""
import torch
from torch import nn


class Curve(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(1, 48), nn.Tanh(), nn.Linear(48, 48), nn.Tanh(), nn.Linear(48, 1))

    def forward(self, x, name):
        y = self.body(x)
        if name.startswith("valid"):
            y = y.clamp(-2, 2)
        return y


torch.manual_seed(1)
net = Curve()
model = torch.compile(net, backend="eager")
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
for step in range(150):
    x = torch.rand(64, 1) * 4 - 2
    loss = nn.functional.mse_loss(model(x, f"train {step}"), torch.sin(2 * x))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 49:
        print(f"step {step + 1}: loss {loss.item():.4f}")
