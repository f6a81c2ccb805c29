"""The head gets more classes half way, and the optimizer is made anew."""
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 3))
centers = torch.randn(6, 8) * 2
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(200):
    if step in (60, 120):
        old = model[2]
        more = torch.cat([old.weight.detach(), 0.01 * torch.randn(1, 32)])
        model[2] = nn.Linear(32, len(more))
        model[2].weight = nn.Parameter(more)
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    y = torch.randint(0, model[2].out_features, (32,))
    x = centers[y] + torch.randn(32, 8)
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
