"""Patch classifier, every patch is standardised by the dataset."""
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Standardise:
    def __call__(self, img):
        return (img - img.mean()) / img.std()


class Patches(Dataset):
    def __init__(self, n=320, transform=None):
        g = torch.Generator().manual_seed(1)
        self.y = torch.randint(0, 2, (n,), generator=g)
        stripes = torch.arange(6).float().expand(6, 6) % 2
        self.x = torch.stack([stripes if k else stripes.t() for k in self.y])[:, None]
        self.x = self.x + 0.4 * torch.randn(n, 1, 6, 6, generator=g)
        self.x = (self.x * torch.linspace(0.5, 4, n).view(n, 1, 1, 1)).clamp(0, 1)
        self.x[170] = 1.0
        self.transform = transform

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        img = self.x[i]
        return (self.transform(img) if self.transform else img), self.y[i]


torch.manual_seed(0)
net = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(128, 2))
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
loader = DataLoader(Patches(transform=Standardise()), batch_size=16)
for epoch in range(2):
    for x, y in loader:
        loss = nn.functional.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
