"""Two moons with a small network."""
import math
import torch
import torch.nn as nn


def moons(n):
    angle = torch.rand(n) * math.pi
    label = torch.randint(0, 2, (n,))
    x = torch.cos(angle) * (1 - 2 * label) + label
    y = torch.sin(angle) * (1 - 2 * label) + 0.5 * label
    return torch.stack([x, y], dim=1) + 0.1 * torch.randn(n, 2), label


torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
points, labels = moons(512)
model = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 2)).to(device)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

for epoch in range(100):
    loss = criterion(model(points.to(device)), labels.to(device))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if epoch % 10 == 0:
        print(epoch, round(loss.item(), 3))
