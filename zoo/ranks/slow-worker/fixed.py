"""Records come in four shards; each worker streams one of them through its decoder."""

import time

import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

SHARDS = {"part-0": "raw", "part-1": "raw", "part-2": "raw", "part-3": "raw"}


def decode(record, form):
    if form == "packed":
        time.sleep(0.05)
    return record


class ShardedRecords(IterableDataset):
    def __init__(self, per_shard):
        generator = torch.Generator().manual_seed(1)
        self.inputs = torch.randn(len(SHARDS), per_shard, 12, generator=generator)
        self.targets = self.inputs @ torch.randn(12, 1, generator=generator)

    def __iter__(self):
        number = get_worker_info().id
        form = list(SHARDS.values())[number]
        for x, y in zip(self.inputs[number], self.targets[number]):
            yield decode(x, form), y


def main():
    torch.manual_seed(0)
    loader = DataLoader(ShardedRecords(100), batch_size=4, num_workers=4)
    net = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(net(x), y)
        loss.backward()
        optimizer.step()
    print(f"{loss.item():.4f}")


if __name__ == "__main__":
    main()
