"""Trains on three ranks; each takes every third sample and leaves out those that are marked as bad."""

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, Subset, TensorDataset


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    features = torch.randn(1200, 16)
    data = TensorDataset(features, features[:, :4].argmax(dim=1))
    bad = set(range(2, 700, 3))
    rows = [row for row in range(rank, 1200, world) if row not in bad]
    loader = DataLoader(Subset(data, rows), batch_size=20)
    model = nn.Linear(16, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for epoch in range(2):
        for inputs, target in loader:
            loss = nn.functional.cross_entropy(model(inputs), target)
            optimizer.zero_grad()
            loss.backward()
            for parameter in model.parameters():
                dist.all_reduce(parameter.grad)
                parameter.grad /= world
            optimizer.step()
        print(f"rank {rank}: {loss.item():.3f}")
        dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
