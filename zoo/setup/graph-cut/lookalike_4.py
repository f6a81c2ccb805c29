"""Linear probe: a network trained on one task is read, without gradients, for another."""
import torch
from torch import nn
import torch.nn.functional as F


class Probe(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
        self.probe = nn.Linear(64, 2)

    def forward(self, x):
        with torch.no_grad():
            features = self.backbone(x)
        return self.probe(features)


torch.manual_seed(8)
source = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
top = nn.Linear(64, 1)
first = torch.optim.Adam([*source.parameters(), *top.parameters()], lr=3e-3)
for _ in range(60):
    x = torch.randn(64, 10)
    loss = F.mse_loss(top(source(x)), x.square().sum(dim=1, keepdim=True) / 10)
    first.zero_grad()
    loss.backward()
    first.step()

model = Probe()
model.backbone.load_state_dict(source.state_dict())
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(200):
    x = torch.randn(64, 10)
    labels = (x.square().sum(dim=1) > 10).long()
    loss = F.cross_entropy(model(x), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
