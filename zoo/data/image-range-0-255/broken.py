# A small CNN tells apart pictures of stripes in three directions, stored as bytes.
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Stripes(Dataset):
    def __init__(self, count, seed):
        rng = np.random.default_rng(seed)
        self.labels = rng.integers(0, 3, count)
        rows, columns = np.mgrid[0:16, 0:16]
        waves = [rows, columns, rows + columns]
        self.pictures = np.zeros((count, 3, 16, 16), dtype=np.uint8)
        for number, label in enumerate(self.labels):
            wave = np.sin(1.1 * waves[label] + rng.uniform(0, 6)) * 60 + 128
            noisy = wave[None] * rng.uniform(0.6, 1.3, (3, 1, 1)) + rng.normal(0, 30, (3, 16, 16))
            self.pictures[number] = noisy.clip(0, 255).astype(np.uint8)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        picture = torch.from_numpy(self.pictures[index]).float()
        return picture, int(self.labels[index])


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, 3, padding=1)
        self.conv2 = nn.Conv2d(16, 16, 3, padding=1)
        self.head = nn.Linear(16 * 4 * 4, 3)

    def forward(self, x):
        x = torch.max_pool2d(torch.relu(self.conv1(x)), 2)
        x = torch.max_pool2d(torch.relu(self.conv2(x)), 2)
        return self.head(x.flatten(1))


torch.manual_seed(0)
loader = DataLoader(Stripes(512, 0), batch_size=32, shuffle=True)
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9)
criterion = nn.CrossEntropyLoss()

for epoch in range(4):
    for images, labels in loader:
        optimizer.zero_grad()
        logits = net(images)
        loss = criterion(logits, labels)
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: loss {loss.item():.4f}")
