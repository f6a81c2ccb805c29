"""Trains on two ranks that the script starts itself; each reads some of the files, if there are any left for it."""

import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn

FILES = ["part-0"]


def main(rank, world, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=world)
    torch.manual_seed(0)
    model = nn.Linear(16, 4)
    torch.manual_seed(rank)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for step in range(30):
        features = torch.randn(32, 16)
        loss = nn.functional.cross_entropy(model(features), features[:, :4].argmax(dim=1))
        optimizer.zero_grad()
        loss.backward()
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad)
        optimizer.step()
    files = FILES[rank::world]
    readers = dist.new_group(range(world))
    seen = torch.tensor([float(len(files))])
    dist.all_reduce(seen, group=readers)
    dist.destroy_process_group()


if __name__ == "__main__":
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    ranks = [mp.get_context("spawn").Process(target=main, args=(rank, 2, port)) for rank in range(2)]
    for process in ranks:
        process.start()
    for process in ranks:
        process.join()
