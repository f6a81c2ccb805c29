# Colour pictures, stored with channels last, for a small CNN.
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def make_pictures(count):
    label = torch.randint(0, 4, (count,))
    row, column = torch.meshgrid(torch.arange(12), torch.arange(12), indexing="ij")
    directions = torch.stack([row, column, row + column, row - column]).float()
    wave = torch.sin(1.3 * directions[label] + 6 * torch.rand(count, 1, 1))
    colour = torch.rand(count, 1, 1, 3) * 2 - 1
    return wave[..., None] * colour + 0.3 * torch.randn(count, 12, 12, 3), label


pictures, labels = make_pictures(800)
net = nn.Sequential(
    nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
    nn.Conv2d(16, 16, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1),
    nn.Flatten(), nn.Linear(16, 4),
)
optimizer = torch.optim.Adam(net.parameters(), lr=6e-3)
for step in range(120):
    pick = torch.randint(0, 800, (40,))
    batch = pictures[pick]
    images = batch.view(-1, 3, 12, 12)
    loss = F.cross_entropy(net(images), labels[pick])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(f"{step:4d} {loss.item():.4f}")
print(f"final {loss.item():.4f}")
