"""Start a linear model from the least-squares solution of a few points."""
import torch
from torch import nn

torch.manual_seed(0)
weights = torch.randn(4, 1)
x = torch.randn(300, 4)
y = x @ weights + 0.1 * torch.randn(300, 1)
model = nn.Linear(4, 1)
start = torch.linalg.lstsq(x[:6], y[:6]).solution
model.weight = nn.Parameter(start.T)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for step in range(60):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
print(loss.item())
