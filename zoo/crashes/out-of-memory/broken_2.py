"""Nearest neighbours of every point in a cloud, then a small net that predicts their distance."""
import torch
import torch.nn as nn

torch.manual_seed(0)
points = torch.randn(300_000, 3)


def nearest(query, points):
    distances = torch.cdist(query, points)
    return distances.topk(2, largest=False).values[:, 1]


target = nearest(points, points)[:400]
model = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for step in range(60):
    loss = nn.functional.mse_loss(model(points[:400]).squeeze(1), target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("loss:", round(loss.item(), 5))
