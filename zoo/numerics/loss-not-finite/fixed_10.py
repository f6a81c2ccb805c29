"""Dense depth regression where only some pixels carry a label."""
import torch
from torch import nn


class DepthNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(3, 12, 3, padding=1), nn.ReLU(),
            nn.Conv2d(12, 12, 3, padding=1), nn.ReLU(),
            nn.Conv2d(12, 1, 1),
        )

    def forward(self, x):
        return self.net(x)


class MaskedL1(nn.Module):
    def forward(self, pred, target, valid):
        err = (pred - target).abs() * valid
        per_image = err.sum(dim=(1, 2, 3)) / valid.sum(dim=(1, 2, 3)).clamp_min(1e-8)
        return per_image.mean()


def batches(n_batches, seed=0):
    g = torch.Generator().manual_seed(seed)
    for _ in range(n_batches):
        img = torch.rand(4, 3, 12, 12, generator=g)
        depth = img.mean(1, keepdim=True) * 3
        density = torch.rand(4, 1, 1, 1, generator=g) ** 1.2
        valid = (torch.rand(4, 1, 12, 12, generator=g) < density).float()
        yield img, depth, valid


torch.manual_seed(0)
model, criterion = DepthNet(), MaskedL1()
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
for i, (img, depth, valid) in enumerate(batches(60)):
    loss = criterion(model(img), depth, valid)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if i % 10 == 0:
        print(f"batch {i}: {loss.item():.4f}")
