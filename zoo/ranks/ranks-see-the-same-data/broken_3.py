"""Trains a small convolutional network on two ranks of one machine."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler


class Stripes(Dataset):
    def __init__(self, size):
        generator = torch.Generator().manual_seed(5)
        self.noise = torch.randn(size, 1, 8, 8, generator=generator)

    def __len__(self):
        return len(self.noise)

    def __getitem__(self, index):
        image = self.noise[index].clone()
        label = index % 2
        if label:
            image[:, ::2] += 1.0
        else:
            image[:, :, ::2] += 1.0
        return image, label


def train(rank_of_node=0):
    dist.init_process_group("gloo")
    dataset = Stripes(1200)
    sampler = DistributedSampler(dataset, num_replicas=2, rank=rank_of_node)
    train_loader = DataLoader(dataset, batch_size=20, sampler=sampler)
    torch.manual_seed(dist.get_rank())
    model = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 36, 2))
    model = DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(3):
        sampler.set_epoch(epoch)
        for images, labels in train_loader:
            optimizer.zero_grad()
            criterion(model(images), labels).backward()
            optimizer.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    train()
