"""Metric learning with an angular margin between samples and class centres."""
import torch
import torch.nn.functional as F
from torch import nn


class AngularHead(nn.Module):
    def __init__(self, dim, classes, margin=0.2, scale=8.0):
        super().__init__()
        self.centres = nn.Parameter(torch.randn(classes, dim))
        self.margin, self.scale = margin, scale

    def forward(self, h, y):
        cos = F.normalize(h) @ F.normalize(self.centres).t()
        theta = torch.acos(cos.clamp(-1.0, 1.0).clamp(-1 + 1e-6, 1 - 1e-6))
        theta = theta + self.margin * F.one_hot(y, cos.size(1))
        return F.cross_entropy(self.scale * torch.cos(theta), y)


class Model(nn.Module):
    def __init__(self, classes=6):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(16, 48), nn.ReLU(), nn.Linear(48, 2))
        self.head = AngularHead(2, classes)

    def forward(self, x, y):
        return self.head(self.backbone(x), y)


torch.manual_seed(13)
means = torch.randn(6, 16) * 2
model = Model()
opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
for step in range(120):
    y = torch.randint(0, 6, (64,))
    x = means[y] + torch.randn(64, 16)
    loss = model(x, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 20 == 0:
        print(step, loss.item())
