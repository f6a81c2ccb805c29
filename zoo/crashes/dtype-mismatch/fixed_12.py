"""Mean squared error on one-hot targets, for four kinds of crystals."""
import torch
from torch import nn


def one_hot(labels):
    onehot = torch.zeros(len(labels), 4).scatter_(1, labels.long().unsqueeze(1), 1.0)
    return onehot


torch.manual_seed(13)
axes = torch.randn(4, 10)
model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 4))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(80):
    labels = torch.randint(0, 4, (32,), dtype=torch.uint8)
    x = axes[labels.long()] + 0.5 * torch.randn(32, 10)
    loss = nn.functional.mse_loss(model(x), one_hot(labels))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print("step", step, "mse", round(loss.item(), 4))
