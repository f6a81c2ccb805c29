"""Autoencoder of height maps, 24 by 24, with three layers down and three up."""
import torch
import torch.nn.functional as F
from torch import nn


class HeightMaps(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.down = nn.Sequential(
            nn.Conv2d(1, width, 3, stride=2, padding=1), nn.SiLU(),
            nn.Conv2d(width, 2 * width, 3, stride=2, padding=1), nn.SiLU(),
            nn.Conv2d(2 * width, 2 * width, 3, stride=2, padding=1), nn.SiLU(),
        )
        self.to_code = nn.Linear(2 * width * 3 * 3, 12)
        self.from_code = nn.Linear(12, 2 * width * 3 * 3)
        self.up_1 = nn.ConvTranspose2d(2 * width, 2 * width, 4, stride=2, padding=1)
        self.up_2 = nn.ConvTranspose2d(2 * width, width, 4, stride=2, padding=1)
        self.up_3 = nn.ConvTranspose2d(width, 1, 3, stride=2, padding=1)

    def forward(self, maps):
        code = self.to_code(self.down(maps).flatten(1))
        grid = F.silu(self.from_code(code)).unflatten(1, (-1, 3, 3))
        return self.up_3(F.silu(self.up_2(F.silu(self.up_1(grid)))))


torch.manual_seed(0)
slope = torch.linspace(-1, 1, 24)
maps = torch.rand(256, 1, 1, 1) * slope[:, None] + torch.rand(256, 1, 1, 1) * slope ** 2
model = HeightMaps()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(3):
    for part in maps.split(32):
        rebuilt = model(part)
        loss = F.smooth_l1_loss(rebuilt, part)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
