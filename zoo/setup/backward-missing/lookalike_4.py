"""Look at a learning-rate schedule first, by stepping through it, then train with a fresh one."""
import torch
from torch import nn


def make(model, steps):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
    return optimizer, torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.2, total_steps=steps)


torch.manual_seed(12)
model = nn.Sequential(nn.Linear(7, 32), nn.ReLU(), nn.Linear(32, 3))
optimizer, scheduler = make(model, 200)
rates = []
for _ in range(200):
    optimizer.step()
    rates.append(scheduler.get_last_lr()[0])
    scheduler.step()
print("highest", max(rates), "at", rates.index(max(rates)))

optimizer, scheduler = make(model, 200)
centers = torch.randn(3, 7)
for step in range(200):
    labels = torch.randint(0, 3, (32,))
    loss = nn.functional.cross_entropy(model(centers[labels] + 0.7 * torch.randn(32, 7)), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
print(loss.item())
