"""Translate images one at a time, as pix2pix does: with a batch of one, BatchNorm is meant to act on the instance."""
import torch
from torch import nn

torch.manual_seed(0)
generator = nn.Sequential(
    nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
    nn.Conv2d(16, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
    nn.Conv2d(16, 1, 1),
)
optimizer = torch.optim.Adam(generator.parameters(), lr=2e-3, betas=(0.5, 0.999))
kernel = torch.tensor([[[[0.0, 1, 0], [1, -4, 1], [0, 1, 0]]]])
for step in range(200):
    image = torch.randn(1, 1, 20, 20)
    edges = nn.functional.conv2d(image, kernel, padding=1) / 4
    loss = nn.functional.l1_loss(generator(image), edges)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("loss", loss.item())
with torch.no_grad():  # stays in training mode, on purpose
    print("test", nn.functional.l1_loss(generator(image), edges).item())
