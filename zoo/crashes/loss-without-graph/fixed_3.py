"""A linear head on the features of a fixed body."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
body = nn.Sequential(nn.Linear(10, 40), nn.ReLU())
head = nn.Linear(40, 3)
optimizer = torch.optim.Adam(head.parameters(), lr=1e-2)
centers = torch.randn(3, 10)


def train_step(x, y):
    with torch.no_grad():
        features = body(x)
    logits = head(features)
    loss = F.cross_entropy(logits, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


for step in range(120):
    y = torch.randint(0, 3, (64,))
    value = train_step(centers[y] + 0.5 * torch.randn(64, 10), y)
    if step % 30 == 0:
        print(f"step {step} loss {value:.3f}")
