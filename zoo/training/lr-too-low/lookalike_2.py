"""A long linear warm-up from 1e-8: the first steps do next to nothing, on purpose, and then it learns."""
import torch
from torch import nn

torch.manual_seed(3)
centers = torch.randn(4, 10)
net = nn.Sequential(nn.Linear(10, 32), nn.Tanh(), nn.Linear(32, 4))
optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: max(5e-6, min(1.0, (step - 150) / 50)))
for step in range(400):
    y = torch.randint(0, 4, (64,))
    loss = nn.functional.cross_entropy(net(centers[y] + torch.randn(64, 10)), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    schedule.step()
print(loss.item())
