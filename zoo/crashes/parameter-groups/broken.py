"""Logistic regression in five lines."""
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(6, 1)
optimizer = torch.optim.Adam(model, lr=0.05)
direction = torch.randn(6, 1)
for i in range(60):
    x = torch.randn(64, 6)
    y = (x @ direction > 0).float()
    loss = nn.functional.binary_cross_entropy_with_logits(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
