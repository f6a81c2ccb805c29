"""Long articles among short ones: the workers are far enough ahead that the training never waits for one."""

import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Articles(Dataset):
    def __init__(self, count):
        generator = torch.Generator().manual_seed(1)
        self.labels = torch.randint(0, 3, (count,), generator=generator)
        self.images = torch.randn(count, 1, 16, 16, generator=generator) * 0.5
        for image, label in zip(self.images, self.labels):
            image[0, 4 * label : 4 * label + 4] += 1.0

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        if index == 150:
            time.sleep(0.3)
        return self.images[index], self.labels[index]


def main():
    torch.manual_seed(0)
    loader = DataLoader(
        Articles(320), batch_size=8, shuffle=True, num_workers=2, prefetch_factor=16, persistent_workers=True
    )
    net = nn.Sequential(
        nn.Conv2d(1, 48, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(48, 48, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(4),
        nn.Flatten(),
        nn.Linear(768, 3),
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
