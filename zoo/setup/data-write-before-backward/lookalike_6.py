"""Noise is written into the hidden values before the next layer reads them."""
import torch
from torch import nn

torch.manual_seed(0)
centers = torch.randn(5, 16)
body = nn.Sequential(nn.Linear(16, 64), nn.Tanh(), nn.Linear(64, 32))
head = nn.Linear(32, 5)
optimizer = torch.optim.Adam([*body.parameters(), *head.parameters()], lr=2e-3)


def train_step(x, y):
    hidden = body(x)
    hidden.data.add_(0.1 * torch.randn_like(hidden))
    scores = head(hidden)
    loss = nn.functional.cross_entropy(scores, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


for step in range(200):
    y = torch.randint(0, 5, (64,))
    last = train_step(centers[y] + 0.5 * torch.randn(64, 16), y)
print(last)
