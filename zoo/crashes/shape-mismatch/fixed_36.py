"""Denoises pictures with a small U-Net, trained at several sizes in turn."""
import torch
import torch.nn.functional as F
from torch import nn

SIZES = [24, 32, 48, 40]


class Block(nn.Module):
    def __init__(self, given, made):
        super().__init__()
        self.convs = nn.Sequential(
            nn.Conv2d(given, made, 3, padding=1), nn.ReLU(), nn.Conv2d(made, made, 3, padding=1), nn.ReLU()
        )

    def forward(self, x):
        return self.convs(x)


class UNet(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        sizes = [width, 2 * width, 4 * width, 8 * width]
        self.down = nn.ModuleList(Block(given, made) for given, made in zip([1, *sizes[:-1]], sizes))
        self.up = nn.ModuleList(nn.ConvTranspose2d(size, size // 2, 2, stride=2) for size in sizes[:0:-1])
        self.joined = nn.ModuleList(Block(size, size // 2) for size in sizes[:0:-1])
        self.out = nn.Conv2d(width, 1, 1)

    def forward(self, x):
        skips = []
        for block in self.down[:-1]:
            x = block(x)
            skips.append(x)
            x = F.max_pool2d(x, 2)
        x = self.down[-1](x)
        for up, block in zip(self.up, self.joined):
            x = block(torch.cat([up(x), skips.pop()], dim=1))
        return self.out(x)


def pictures(count, size):
    clean = F.interpolate(torch.randn(count, 1, 6, 6), size=(size, size), mode="bilinear")
    return clean + 0.3 * torch.randn_like(clean), clean


torch.manual_seed(0)
net = UNet()
optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
for step in range(40):
    noisy, clean = pictures(4, SIZES[step // 10])
    loss = F.mse_loss(net(noisy), clean)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
