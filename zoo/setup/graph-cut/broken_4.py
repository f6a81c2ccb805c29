"""Image regression: where is the bright spot? Written as one training function."""
import torch
from torch import nn


class Locator(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten())
        self.regressor = nn.Sequential(nn.Linear(8 * 36, 32), nn.ReLU(), nn.Linear(32, 2))

    def features(self, images):
        with torch.no_grad():
            return self.backbone(images)

    def forward(self, images):
        return self.regressor(self.features(images))


def spots(n):
    images, centers = 0.5 * torch.rand(n, 1, 12, 12), torch.randint(1, 11, (n, 2))
    images[torch.arange(n), 0, centers[:, 0], centers[:, 1]] += 1
    return images, centers.float() / 12


def train(steps):
    torch.manual_seed(3)
    model = Locator()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for step in range(steps):
        images, centers = spots(32)
        optimizer.zero_grad()
        loss = (model(images) - centers).square().mean()
        loss.backward()
        optimizer.step()
        if step % 50 == 0:
            print(step, round(loss.item(), 5))


train(200)
