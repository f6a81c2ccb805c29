# images from a slow disk, read one after the other while the network waits
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader


class Pictures:
    """Stands for files on a network drive: each takes four milliseconds to come."""

    def __init__(self, n):
        g = torch.Generator().manual_seed(1)
        self.labels = torch.randint(0, 3, (n,), generator=g)
        self.images = torch.randn(n, 1, 16, 16, generator=g) * 0.5
        for i, label in enumerate(self.labels):
            self.images[i, 0, 4 * label : 4 * label + 4] += 1.0

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        time.sleep(0.004)
        return self.images[i], self.labels[i]


torch.manual_seed(0)
train_loader = DataLoader(Pictures(384), 16, shuffle=True)
model = nn.Sequential(
    nn.Conv2d(1, 32, 3, padding=1),
    nn.ReLU(),
    nn.Conv2d(32, 32, 3, padding=1),
    nn.ReLU(),
    nn.MaxPool2d(4),
    nn.Flatten(),
    nn.Linear(512, 3),
)
opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
for epoch in range(2):
    for images, labels in train_loader:
        opt.zero_grad()
        loss = F.cross_entropy(model(images), labels)
        loss.backward()
        opt.step()
    print(epoch, loss.item())
