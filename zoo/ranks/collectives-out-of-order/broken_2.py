"""Trains on four ranks; a batch whose loss is not finite is left out."""

import torch
import torch.distributed as dist
from torch import nn

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)
model = nn.Linear(16, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
torch.manual_seed(rank)
for step in range(60):
    features = torch.randn(32, 16)
    target = features.sum(dim=1, keepdim=True)
    if step == 30 and 2 * world // 3 == rank:
        target[0] = float("inf")
    loss = nn.functional.mse_loss(model(features), target)
    if not torch.isfinite(loss):
        dist.barrier()
        continue
    optimizer.zero_grad()
    loss.backward()
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)
        parameter.grad /= world
    optimizer.step()
dist.destroy_process_group()
