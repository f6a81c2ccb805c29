"""Two processes train on their halves of a dataset and average the loss at the end of each step."""

import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn.functional as F
from torch import nn


def work(rank, store, processes):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=processes)
    torch.manual_seed(0)
    x = torch.randn(200, 6)
    y = x @ torch.randn(6, 1)
    half = slice(0, 96) if rank == 0 else slice(96, 200)
    x, y = x[half], y[half]
    model = nn.Linear(6, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for start in range(0, len(x), 16):
        loss = F.mse_loss(model(x[start : start + 16]), y[start : start + 16])
        optimizer.zero_grad()
        loss.backward()
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad)
            parameter.grad /= processes
        optimizer.step()
    if rank == 0:
        print(f"loss {loss.item():.4f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    store = tempfile.mkdtemp() + "/store"
    mp.spawn(work, args=(store, 2), nprocs=2)
