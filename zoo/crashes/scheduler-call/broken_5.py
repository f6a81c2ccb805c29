"""Exponential decay of the learning rate by a factor."""
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lr_lambda=0.97)
x = torch.randn(128, 2)
y = x.norm(dim=1, keepdim=True)
for epoch in range(60):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
    scheduler.step()
print(loss.item())
