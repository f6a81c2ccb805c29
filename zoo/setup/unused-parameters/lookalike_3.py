"""Layers reached by their number: getattr(self, f"stage{i}"), as many as are asked for."""
import torch
from torch import nn


class Staged(nn.Module):
    def __init__(self, depth):
        super().__init__()
        self.depth = depth
        for i in range(4):
            setattr(self, f"stage{i}", nn.Sequential(nn.Linear(16, 16), nn.ReLU()))
        self.out = nn.Linear(16, 3)

    def forward(self, x):
        for i in range(self.depth):
            x = x + getattr(self, f"stage{i}")(x)
        return self.out(x)


torch.manual_seed(3)
model = Staged(depth=3)
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
centers = torch.randn(3, 16)
for step in range(150):
    labels = torch.randint(0, 3, (32,))
    loss = nn.functional.cross_entropy(model(centers[labels] + torch.randn(32, 16)), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
