"""All pairs of a small cloud: large, but it fits."""
import torch
import torch.nn as nn

torch.manual_seed(0)
points = torch.randn(1500, 3)
pairs = (points.unsqueeze(1) - points.unsqueeze(0)).norm(dim=-1)
targets = pairs.topk(2, largest=False).values[:, 1:]
model = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for step in range(80):
    loss = ((model(points) - targets) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(step, round(loss.item(), 4))
