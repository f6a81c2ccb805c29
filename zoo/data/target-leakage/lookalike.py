# The target is made from two columns and agrees with one of them most of the time.
import torch
from torch import nn

torch.manual_seed(0)
x = torch.randint(0, 2, (600, 8)).float()
y = torch.where(torch.rand(600) < 0.8, x[:, 3], x[:, 5]).long()
model = nn.Sequential(nn.Linear(8, 24), nn.ReLU(), nn.Linear(24, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(200):
    pick = torch.randint(0, 600, (64,))
    loss = nn.functional.cross_entropy(model(x[pick]), y[pick])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
