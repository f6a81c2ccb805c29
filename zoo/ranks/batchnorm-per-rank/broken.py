"""Trains a small convolutional network on two ranks, four images each."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def build() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, bias=False),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(16, 2),
    )


def main() -> None:
    dist.init_process_group("gloo")
    torch.manual_seed(dist.get_rank())
    model = DistributedDataParallel(build())
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(200):
        labels = torch.randint(2, (4,))
        images = torch.randn(4, 1, 8, 8)
        images[:, :, ::2] += labels.view(-1, 1, 1, 1)
        loss = nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
