"""Which kind of marked item is in a set? Attention pooling, scores (batch, items, 1)."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class AttentionPool(nn.Module):
    def __init__(self, features, width=32):
        super().__init__()
        self.value = nn.Linear(features, width)
        self.score = nn.Sequential(nn.Linear(features, width), nn.Tanh(), nn.Linear(width, 1))
        self.out = nn.Linear(width, 3)

    def forward(self, bag):
        weight = F.softmax(self.score(bag), dim=1)
        pooled = (weight * torch.relu(self.value(bag))).sum(dim=1)
        return self.out(pooled)


torch.manual_seed(0)
model = AttentionPool(7)
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(300):
    bag = torch.randn(32, 10, 7)
    kind = torch.randint(0, 3, (32,))
    spot = torch.randint(0, 10, (32,))
    bag[torch.arange(32), spot, 0] = 4.0
    bag[torch.arange(32), spot, 1] = kind.float() * 2 - 2
    loss = F.cross_entropy(model(bag), kind)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 60 == 0:
        print(step, loss.item())
