"""Sort noisy vectors by a short code of them, which is brought to unit variance before the last layers."""
import torch
from torch import nn
from torch.nn import functional as F


class Scaler:
    """Running mean and variance of the codes."""

    def __init__(self, width):
        self.mean = torch.zeros(width)
        self.variance = torch.ones(width)

    def __call__(self, codes):
        values = codes.detach()
        self.mean = 0.95 * self.mean + 0.05 * values.mean(0)
        self.variance = 0.95 * self.variance + 0.05 * values.var(0)
        return (codes - self.mean) / torch.sqrt(self.variance + 1e-5)


class Sorter(nn.Module):
    def __init__(self, given=50, width=6, kinds=12):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(given, 96), nn.ReLU(), nn.Linear(96, width))
        self.scale = Scaler(width)
        self.last = nn.Sequential(nn.Linear(width, 32), nn.ReLU(), nn.Linear(32, kinds))

    def forward(self, x):
        return self.last(self.scale(self.encoder(x)))


torch.manual_seed(0)
centers = torch.randn(12, 50)
disturbed = 2 * torch.randn(10, 50)
model = Sorter()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for step in range(1, 301):
    kinds = torch.randint(0, 12, (64,))
    x = centers[kinds] + torch.randn(64, 10) @ disturbed
    loss = F.cross_entropy(model(x), kinds)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 100 == 0:
        print(f"step {step}: {loss.item():.4f}")
