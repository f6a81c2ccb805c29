"""Trains on two ranks; when the training is over, one of them goes on by itself for a while."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(rank)
model = DistributedDataParallel(nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4)))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(60):
    features = torch.randn(32, 16)
    loss = nn.functional.cross_entropy(model(features), features[:, :4].argmax(dim=1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
dist.barrier()
dist.destroy_process_group()
if rank == 0:
    head = nn.Linear(4, 2)
    optimizer = torch.optim.Adam(head.parameters(), lr=1e-2)
    for step in range(60):
        with torch.no_grad():
            made = model.module(torch.randn(32, 16))
        loss = nn.functional.cross_entropy(head(made), made[:, :2].argmax(dim=1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
