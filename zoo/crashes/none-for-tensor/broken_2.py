"""A regression that looks at its gradients now and then."""
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
truth = torch.randn(8, 1)
for step in range(80):
    x = torch.randn(64, 8)
    loss = nn.functional.mse_loss(model(x), x @ truth)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    if step % 20 == 0:
        largest = max(p.grad.abs().max().item() for p in model.parameters())
        print(step, loss.item(), largest)
