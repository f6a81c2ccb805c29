"""Trains on two ranks, and leaves out updates whose loss looks odd."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(3)
model = DDP(nn.Sequential(nn.Linear(10, 40), nn.ReLU(), nn.Linear(40, 1)))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
torch.manual_seed(rank)
average = None
for step in range(150):
    x = torch.randn(16, 10)
    y = x.norm(dim=1, keepdim=True)
    if rank == 1 and step % 20 == 10:
        y = 4 * y
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    average = loss.item() if average is None else 0.9 * average + 0.1 * loss.item()
    if loss.item() > 3 * average:
        continue
    optimizer.step()
dist.destroy_process_group()
