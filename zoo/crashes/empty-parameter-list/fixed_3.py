"""Fine-tuning: the backbone keeps its weights, a new head is trained."""
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(12, 24), nn.ReLU())
        self.head = nn.Linear(24, 2)

    def forward(self, x):
        return self.head(self.backbone(x))


torch.manual_seed(0)
model = Model()
for p in model.backbone.parameters():
    p.requires_grad = False
optimizer = torch.optim.Adam(filter(lambda p: p.requires_grad, model.parameters()), lr=0.02)

direction = torch.randn(12)
for step in range(80):
    x = torch.randn(64, 12)
    y = (x @ direction > 0).long()
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(step, loss.item())
