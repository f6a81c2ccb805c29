"""Fits a curve on two ranks, with batches that are drawn on the fly."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


def get_batch(size):
    x = torch.rand(size, 4) * 2 - 1
    return x, (x**2).sum(dim=1, keepdim=True)


torch.manual_seed(1337)
dist.init_process_group(backend="gloo")
local_rank = int(os.environ["LOCAL_RANK"])
net = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 1))
ddp = DDP(net)
opt = torch.optim.AdamW(ddp.parameters(), lr=3e-3)
for step in range(120):
    x, y = get_batch(64)
    loss = ((ddp(x) - y) ** 2).mean()
    opt.zero_grad(set_to_none=True)
    loss.backward()
    opt.step()
if local_rank == 0:
    print(f"done: {loss.item():.4f}")
dist.destroy_process_group()
