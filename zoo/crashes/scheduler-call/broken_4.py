"""Steps down of the learning rate at fixed epochs."""
import torch
from torch import nn
from torch.optim import lr_scheduler

torch.manual_seed(0)
model = nn.Linear(4, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
scheduler = lr_scheduler.MultiStepLR(optimizer, 20, 40)
centers = torch.randn(3, 4)
for epoch in range(60):
    y = torch.randint(0, 3, (64,))
    x = centers[y] + 0.5 * torch.randn(64, 4)
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    scheduler.step()
print(loss.item())
