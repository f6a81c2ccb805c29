"""Trains on two ranks; the first one prints and keeps its weights now and then, and both wait for each other in a
sum of their losses."""

import copy

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(rank)
model = DistributedDataParallel(nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
kept = None
for step in range(1200):
    inputs = torch.randn(128, 64)
    loss = nn.functional.cross_entropy(model(inputs), inputs[:, :10].argmax(dim=1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 49:
        total = loss.detach().clone()
        dist.all_reduce(total)
        if rank == 0:
            kept = copy.deepcopy(model.module.state_dict())
dist.destroy_process_group()
