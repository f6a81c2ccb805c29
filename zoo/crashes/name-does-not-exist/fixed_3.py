"""Whiten features, then fit a line to them."""
import torch
from torch import nn

torch.manual_seed(0)
data = torch.randn(500, 5) @ torch.randn(5, 5)
target = data.sum(1, keepdim=True)
covariance = data.t() @ data / len(data)
values, vectors = torch.linalg.eigh(covariance)
white = data @ vectors / values.sqrt()

model = nn.Linear(5, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(80):
    loss = nn.functional.mse_loss(model(white), target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("loss", loss.item())
