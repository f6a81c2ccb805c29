"""Warm-up and decay are counted in batches here: the scheduler belongs into the inner loop."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(3)
x = torch.randn(512, 10)
y = (x[:, 0] * x[:, 1] > 0).long()
loader = DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True)
epochs = 10
steps = epochs * len(loader)

model = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
warmup = 30


def factor(step):
    return min(1.0, (step + 1) / warmup) * max(0.0, (steps - step) / steps) ** 2


scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, factor)
for epoch in range(epochs):
    for features, target in loader:
        loss = nn.functional.cross_entropy(model(features), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
    print(epoch, round(loss.item(), 3), f"{scheduler.get_last_lr()[0]:.2e}")
