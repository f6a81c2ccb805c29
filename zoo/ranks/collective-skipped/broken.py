"""Trains with DistributedDataParallel and lets the first rank save a checkpoint half-way."""

import io

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def save(model):
    buffer = io.BytesIO()
    torch.save(model.module.state_dict(), buffer)
    dist.barrier()


dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(0)
model = DistributedDataParallel(nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4)))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
torch.manual_seed(rank)
for step in range(80):
    features = torch.randn(32, 16)
    loss = nn.functional.cross_entropy(model(features), features[:, :4].argmax(dim=1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step == 40 and rank == 0:
        save(model)
dist.destroy_process_group()
