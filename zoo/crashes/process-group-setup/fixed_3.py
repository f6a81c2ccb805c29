"""Train a two-layer classifier; started by torchrun on the cluster, by python on a laptop."""
import os
import socket

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


def setup():
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", free_port())
    rank = int(os.environ.get("RANK", "0"))
    world_size = int(os.environ.get("WORLD_SIZE", "1"))
    dist.init_process_group("gloo", rank=rank, world_size=world_size)
    return rank


def main():
    rank = setup()
    torch.manual_seed(rank)
    x = torch.randn(512, 16)
    y = (x[:, 0] > 0).long()
    model = DistributedDataParallel(nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 2)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.3)
    for epoch in range(5):
        for start in range(0, 512, 64):
            loss = F.cross_entropy(model(x[start : start + 64]), y[start : start + 64])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch}: loss {loss.item():.3f}")
    dist.destroy_process_group()


main()
