"""A pretrained backbone in evaluation mode, frozen, with a new head on top of it."""
import torch
from torch import nn

torch.manual_seed(11)
backbone = nn.Sequential(nn.Linear(16, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.3))
model = nn.Sequential(backbone, nn.Linear(32, 4))
for parameter in backbone.parameters():
    parameter.requires_grad_(False)
model.eval()
optimizer = torch.optim.Adam(model[1].parameters(), lr=1e-2)
centers = torch.randn(4, 16)
for step in range(120):
    label = torch.randint(0, 4, (50,))
    loss = nn.functional.cross_entropy(model(centers[label] + 0.4 * torch.randn(50, 16)), label)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 30 == 0:
        print(step, round(loss.item(), 4))
