"""Regression with small batches; gradients of eight of them make one update."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(1024, 10)
y = (x @ torch.randn(10, 1) + 0.5 * x[:, :1] ** 2).squeeze(1)
loader = DataLoader(TensorDataset(x, y), batch_size=8, shuffle=True)
accumulation_steps = 8

model = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.04, momentum=0.9)
criterion = nn.MSELoss()

optimizer.zero_grad()
for epoch in range(4):
    for i, (features, target) in enumerate(loader, 1):
        loss = criterion(model(features).squeeze(1), target)
        loss.backward()
        if i % accumulation_steps == 0:
            optimizer.step()
            optimizer.zero_grad()
    print(f"epoch {epoch}: loss {loss.item():.4f}")
