"""Train a classifier and report its size first."""
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 3))
params = model.parameters()
print("parameters:", sum(p.numel() for p in params))
optimizer = torch.optim.SGD(params, lr=0.1, momentum=0.9)

centers = torch.randn(3, 10)
for step in range(60):
    y = torch.randint(0, 3, (64,))
    x = centers[y] + torch.randn(64, 10)
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(step, loss.item())
