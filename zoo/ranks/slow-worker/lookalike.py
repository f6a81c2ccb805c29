"""One of two shards is slower to decode, but training on a batch takes longer than that."""

import time

import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

SHARDS = {"part-0": "raw", "part-1": "packed"}


def decode(record, form):
    if form == "packed":
        time.sleep(0.002)
    return record


class ShardedImages(IterableDataset):
    def __init__(self, per_shard):
        generator = torch.Generator().manual_seed(1)
        self.labels = torch.randint(0, 3, (len(SHARDS), per_shard), generator=generator)
        self.images = torch.randn(len(SHARDS), per_shard, 1, 16, 16, generator=generator) * 0.5
        for shard, labels in zip(self.images, self.labels):
            for image, label in zip(shard, labels):
                image[0, 4 * label : 4 * label + 4] += 1.0

    def __iter__(self):
        number = get_worker_info().id
        form = list(SHARDS.values())[number]
        for image, label in zip(self.images[number], self.labels[number]):
            yield decode(image, form), label


def main():
    torch.manual_seed(0)
    loader = DataLoader(ShardedImages(320), batch_size=8, num_workers=2)
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
    for images, labels in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(images), labels)
        loss.backward()
        optimizer.step()
    print(f"{loss.item():.4f}")


if __name__ == "__main__":
    main()
