"""Decoded pictures are kept, so that each is decoded once by each worker: the cache fills and then stays."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Bars(Dataset):
    def __init__(self, count):
        self.labels = torch.arange(count) % 4
        self.decoded = {}

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        if index not in self.decoded:
            label = self.labels[index]
            image = torch.randn(1, 64, 64) * 0.3
            image[0, 16 * label : 16 * label + 16] += 1.0
            self.decoded[index] = image
        return self.decoded[index], self.labels[index]


def main():
    torch.manual_seed(0)
    loader = DataLoader(Bars(3200), batch_size=64, shuffle=True, num_workers=2, persistent_workers=True)
    net = nn.Sequential(nn.AvgPool2d(4), nn.Flatten(), nn.Linear(256, 32), nn.ReLU(), nn.Linear(32, 4))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for epoch in range(5):
        for images, labels in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(net(images), labels)
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch}: {loss.item():.4f}")


if __name__ == "__main__":
    main()
