"""Training with a quality gate: the script refuses to go on when validation is worse than a limit."""
import torch
from torch import nn

torch.manual_seed(2)
x = torch.randn(400, 5)
y = x.sum(dim=1, keepdim=True) + torch.randn(400, 1)
model = nn.Linear(5, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for epoch in range(40):
    loss = nn.functional.mse_loss(model(x[:300]), y[:300])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if epoch % 10 == 0:
        print("epoch", epoch, "mse", round(loss.item(), 3))

with torch.no_grad():
    val = nn.functional.mse_loss(model(x[300:]), y[300:]).item()
assert val < 0.1, f"validation mse {val:.3f} for output of size {tuple(y[300:].shape)} is above 0.1"
