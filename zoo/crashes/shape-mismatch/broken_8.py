# Stripes in grey images: horizontal, vertical or none.
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class Stripes(Dataset):
    def __init__(self, n=480, size=14):
        generator = torch.Generator().manual_seed(2)
        self.y = torch.randint(0, 3, (n,), generator=generator)
        wave = torch.sin(torch.arange(size) * 1.2)
        kinds = torch.stack([wave[:, None].expand(size, size), wave[None, :].expand(size, size), torch.zeros(size, size)])
        self.x = kinds[self.y] + 0.6 * torch.randn(n, size, size, generator=generator)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, index):
        return self.x[index], self.y[index]


class StripeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(1, 8, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(8 * 6 * 6, 3)
        )
        self.criterion = nn.CrossEntropyLoss()

    def loss(self, x, y):
        scores = self.net(x)
        return self.criterion(scores, y)


torch.manual_seed(2)
model = StripeNet()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
for epoch in range(4):
    for x, y in DataLoader(Stripes(), batch_size=32, shuffle=True):
        loss = model.loss(x, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("epoch", epoch, "loss", round(loss.item(), 4))
