"""A loss of our own with a weight for the hard class."""
import torch
from torch import nn


class WeightedLoss(nn.Module):
    def __init__(self, weight):
        super().__init__()
        self.weight = weight

    def forward(self, logits, target):
        per_sample = nn.functional.binary_cross_entropy_with_logits(logits, target, reduction="none")
        return (per_sample * (1 + target * (self.weight - 1))).mean()


torch.manual_seed(0)
x = torch.randn(200, 5)
y = (x[:, 0] + 0.5 * x[:, 1] > 0.8).float()
model = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 1))
criterion = WeightedLoss(3.0)
optimizer = torch.optim.SGD(model.parameters(), lr=0.3)

for i in range(60):
    logits = model(x).squeeze(1)
    loss = criterion(logits, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if i % 15 == 0:
        print(f"{i}: {loss.item():.4f}")
