import random

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader

torch.manual_seed(33)
random.seed(33)
S = 16


def blob_image():
    yy, xx = torch.meshgrid(torch.arange(S), torch.arange(S), indexing="ij")
    cy, cx = 3 + 10 * torch.rand(1), 3 + 10 * torch.rand(1)
    r = 2 + 2 * torch.rand(1)
    mask = ((yy - cy) ** 2 + (xx - cx) ** 2 < r ** 2).float()
    image = 1.2 * mask + 0.7 * torch.randn(S, S)
    return image[None], mask[None]


class Blobs(Dataset):
    def __init__(self, n, augment=False):
        self.items = [blob_image() for _ in range(n)]
        self.augment = augment

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        image, mask = self.items[i]
        if self.augment:
            if random.random() < 0.5:
                image = torch.flip(image, dims=[2])
            if random.random() < 0.5:
                image = torch.flip(image, dims=[1])
        return (image - 0.15) / 0.8, mask


class TinyUNet(nn.Module):
    def __init__(self, c=10):
        super().__init__()
        self.down1 = nn.Sequential(nn.Conv2d(1, c, 3, padding=1), nn.ReLU())
        self.down2 = nn.Sequential(nn.Conv2d(c, 2 * c, 3, padding=1), nn.ReLU())
        self.up = nn.ConvTranspose2d(2 * c, c, 2, stride=2)
        self.last = nn.Sequential(nn.Conv2d(2 * c, c, 3, padding=1), nn.ReLU(), nn.Conv2d(c, 1, 1))

    def forward(self, x):
        a = self.down1(x)
        b = self.down2(F.max_pool2d(a, 2))
        return self.last(torch.cat([a, self.up(b)], 1))


def dice_loss(logits, mask, eps=1.0):
    p = torch.sigmoid(logits)
    inter = (p * mask).sum((1, 2, 3))
    return (1 - (2 * inter + eps) / (p.sum((1, 2, 3)) + mask.sum((1, 2, 3)) + eps)).mean()


def loss_fn(logits, mask):
    return F.binary_cross_entropy_with_logits(logits, mask) + dice_loss(logits, mask)


train_loader = DataLoader(Blobs(480, augment=True), batch_size=16, shuffle=True)
val_loader = DataLoader(Blobs(120), batch_size=40)
model = TinyUNet()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)

for epoch in range(6):
    model.train()
    run = 0.0
    for image, mask in train_loader:
        loss = loss_fn(model(image), mask)
        opt.zero_grad()
        loss.backward()
        opt.step()
        run += loss.item()
    model.eval()
    inter = union = 0.0
    with torch.no_grad():
        for image, mask in val_loader:
            pred = (model(image) > 0).float()
            inter += (pred * mask).sum().item()
            union += ((pred + mask) > 0).sum().item()
    print(f"epoch {epoch}: train {run / len(train_loader):.4f} val IoU {inter / union:.3f}")
