"""A fixed feature extractor that says so: the class keeps the choice in an attribute of its own."""
import torch
from torch import nn


class Features(nn.Module):
    def __init__(self, requires_grad):
        super().__init__()
        self.requires_grad = requires_grad
        self.net = nn.Sequential(nn.Linear(12, 96), nn.ReLU())
        if not requires_grad:
            for p in self.parameters():
                p.requires_grad = False

    def forward(self, x):
        return self.net(x)


torch.manual_seed(2)
features = Features(requires_grad=False)
model = nn.Sequential(features, nn.Linear(96, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
centers = torch.randn(3, 12)
for step in range(200):
    labels = torch.randint(0, 3, (32,))
    loss = nn.functional.cross_entropy(model(centers[labels] + torch.randn(32, 12)), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
