"""Two towers for pairs of vectors; are they the same up to noise?"""
import torch
from torch import nn


class Tower(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(size, 32), nn.ReLU(), nn.Linear(32, 8))

        def forward(self, x):
            return nn.functional.normalize(self.net(x), dim=1)


torch.manual_seed(0)
tower = Tower(10)
optimizer = torch.optim.Adam(tower.parameters(), lr=0.003)
for step in range(60):
    a = torch.randn(32, 10)
    b = a + 0.1 * torch.randn(32, 10)
    scores = tower(a) @ tower(b).T * 5
    loss = nn.functional.cross_entropy(scores, torch.arange(32))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(step, round(loss.item(), 4))
