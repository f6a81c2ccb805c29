# Binary classification of medical measurements, cross-entropy written out.
import torch
import torch.nn as nn

torch.manual_seed(0)

n = 600
sick = torch.randint(0, 2, (n, 1)).float()
pressure = 12 + 3 * sick + torch.randn(n, 1)
markers = torch.randn(n, 4).exp() * (1 + 6 * sick)
x = torch.cat([pressure, markers], dim=1)
x = x - x.mean(0)

model = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 1), nn.Sigmoid())
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)


def bce(p, y):
    return -(y * torch.log(p) + (1 - y) * torch.log(1 - p)).mean()


for epoch in range(20):
    order = torch.randperm(n)
    for start in range(0, n, 50):
        rows = order[start:start + 50]
        loss = bce(model(x[rows]), sick[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: loss {loss.item():.4f}")
