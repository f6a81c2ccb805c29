"""Train a spiral classifier with a high first learning rate that drops every epoch."""
import math

import torch
from torch import nn

torch.manual_seed(0)
angle = torch.rand(600) * 3 * math.pi
side = torch.randint(0, 2, (600,))
points = torch.stack([angle * torch.cos(angle + side * math.pi), angle * torch.sin(angle + side * math.pi)], 1) / 6

model = nn.Sequential(nn.Linear(2, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.8)
scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.3)
loss_fn = nn.CrossEntropyLoss()

for epoch in range(6):
    scheduler.step()
    for _ in range(60):
        pick = torch.randint(0, 600, (64,))
        loss = loss_fn(model(points[pick]), side[pick])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: loss {loss.item():.4f} lr {scheduler.get_last_lr()[0]:.4f}")
