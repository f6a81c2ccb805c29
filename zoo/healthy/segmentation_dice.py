"""Segment circles with a small U-shaped network: weighted cross-entropy and soft dice on four classes."""
import torch
import torch.nn.functional as F
from torch import nn


class SmallUNet(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU())
        self.deep = nn.Sequential(nn.MaxPool2d(2), nn.Conv2d(8, 16, 3, padding=1), nn.ReLU())
        self.up = nn.ConvTranspose2d(16, 8, 2, stride=2)
        self.out = nn.Conv2d(16, classes, 1)

    def forward(self, image):
        high = self.down(image)
        return self.out(torch.cat([high, self.up(self.deep(high))], dim=1))


def scenes(n, size=24):
    grid = torch.stack(torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")).float()
    mask = torch.zeros(n, size, size, dtype=torch.long)
    for i in range(n):
        for kind in (1, 2, 3):
            center = 4 + 16 * torch.rand(2, 1, 1)
            mask[i][((grid - center) ** 2).sum(0) < 9 + 3 * kind] = kind
    return mask.unsqueeze(1) / 3 + 0.1 * torch.randn(n, 1, size, size), mask


def dice(scores, mask):
    p, hot = scores.softmax(1), F.one_hot(mask, 4).movedim(-1, 1).float()
    both, all_of = (p * hot).sum((0, 2, 3)), (p + hot).sum((0, 2, 3))
    return 1 - (2 * both / (all_of + 1e-6)).mean()


torch.manual_seed(3)
net = SmallUNet()
weights = torch.tensor([0.3, 1.0, 1.0, 1.0])
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
for step in range(60):
    image, mask = scenes(8)
    scores = net(image)
    loss = F.cross_entropy(scores, mask, weight=weights) + 0.5 * dice(scores, mask)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 12 == 0:
        print(step, round(loss.item(), 4))
