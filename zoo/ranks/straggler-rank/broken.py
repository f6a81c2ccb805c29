"""Trains on two ranks; the first one notes the size of the weight in the middle after every step."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def note(model: nn.Module, best: dict) -> None:
    sizes = []
    for parameter in model.parameters():
        for value in parameter.abs().flatten().tolist():
            sizes.append(round(value, 5))
    best["middle"] = sorted(sizes)[len(sizes) // 2]


def main() -> None:
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(rank)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    best: dict = {}
    for _ in range(250):
        inputs = torch.randn(128, 64)
        loss = nn.functional.cross_entropy(model(inputs), inputs[:, :10].argmax(dim=1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if rank == 0:
            note(model.module, best)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
