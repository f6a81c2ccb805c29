"""Trains on two ranks; the first one keeps a record of the weights after every step."""

import io

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def keep(model: nn.Module, best: dict) -> None:
    buffer = io.BytesIO()
    for _ in range(4):
        torch.save({"model": model.state_dict(), "history": list(range(20000))}, buffer)
    best["bytes"] = buffer.tell()


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
            keep(model.module, best)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
