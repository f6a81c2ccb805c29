"""Slow loading behind slow training: workers fetch each batch while the network is busy with another."""

import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class RemoteImages(Dataset):
    def __init__(self, count):
        generator = torch.Generator().manual_seed(1)
        self.labels = torch.randint(0, 3, (count,), generator=generator)
        self.images = torch.randn(count, 1, 16, 16, generator=generator) * 0.5
        for image, label in zip(self.images, self.labels):
            image[0, 4 * label : 4 * label + 4] += 1.0

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        time.sleep(0.001)
        return self.images[index], self.labels[index]


def main():
    torch.manual_seed(0)
    loader = DataLoader(RemoteImages(512), batch_size=16, shuffle=True, num_workers=2, persistent_workers=True)
    net = nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(32, 32, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(4),
        nn.Flatten(),
        nn.Linear(512, 3),
    )
    optimizer = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9)
    for epoch in range(3):
        for images, labels in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(net(images), labels)
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch}: {loss.item():.4f}")


if __name__ == "__main__":
    main()
