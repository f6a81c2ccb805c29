# homework 3: texture classification with a small CNN
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader

torch.manual_seed(8)
N_CLASS = 6


class Textures(Dataset):
    def __init__(self, per_class, seed):
        g = torch.Generator().manual_seed(seed)
        xs, ys = [], []
        grid = torch.arange(10).float()
        yy, xx = torch.meshgrid(grid, grid, indexing="ij")
        for c in range(N_CLASS):
            for _ in range(per_class):
                phase = torch.rand(1, generator=g) * 6.28
                contrast = 0.4 + 0.2 * c
                img = contrast * torch.sin((0.5 + 0.25 * c) * xx + 0.3 * (c % 3) * yy + phase)
                img = img + 0.1 * c + 0.35 * torch.randn(10, 10, generator=g)
                xs.append(img[None])
                ys.append(c)
        self.x, self.y = torch.stack(xs), torch.tensor(ys)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1, self.b1 = nn.Conv2d(1, 10, 3, padding=1), nn.BatchNorm2d(10)
        self.c2, self.b2 = nn.Conv2d(10, 16, 3, padding=1), nn.BatchNorm2d(16)
        self.fc1, self.b3 = nn.Linear(16 * 25, 32), nn.BatchNorm1d(32)
        self.fc2 = nn.Linear(32, N_CLASS)

    def forward(self, x):
        x = F.relu(self.b1(self.c1(x)))
        x = F.max_pool2d(F.relu(self.b2(self.c2(x))), 2)
        x = F.relu(self.b3(self.fc1(x.flatten(1))))
        return self.fc2(x)


def train_one_epoch(net, loader, opt):
    net.train()
    total = 0
    for x, y in loader:
        opt.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        opt.step()
        total += loss.item()
    return total / len(loader)


def test(net, loader):
    correct = n = 0
    with torch.no_grad():
        for x, y in loader:
            correct += (net(x).argmax(1) == y).sum().item()
            n += len(y)
    return correct / n


train_loader = DataLoader(Textures(200, seed=0), batch_size=40, shuffle=True)
test_loader = DataLoader(Textures(50, seed=1), batch_size=25, shuffle=False)
net = Net()
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
for epoch in range(5):
    l = train_one_epoch(net, train_loader, opt)
    print(f"epoch {epoch + 1} train loss {l:.4f} test acc {100 * test(net, test_loader):.1f}%")
