"""Gradient descent with a compiled loss that is clipped where it grows too large."""
import torch
from torch import nn


@torch.compile(backend="eager")
def robust_loss(prediction, target):
    error = (prediction - target).abs()
    if error.max() > 3.0:
        error = error.clamp(max=3.0)
    return (error**2).mean()


torch.manual_seed(0)
x = torch.randn(128, 8)
y = x @ torch.randn(8, 1)
model = nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(40):
    loss = robust_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
