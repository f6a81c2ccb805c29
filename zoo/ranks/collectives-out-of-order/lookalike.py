"""Trains on two ranks that go different ways for a while and meet in the same collectives."""

import time

import torch
import torch.distributed as dist
from torch import nn

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)
model = nn.Linear(16, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
torch.manual_seed(rank)
for step in range(60):
    features = torch.randn(32, 16)
    loss = nn.functional.cross_entropy(model(features), features[:, :4].argmax(dim=1))
    optimizer.zero_grad()
    loss.backward()
    gradients = [parameter.grad for parameter in model.parameters()]
    if rank == 0:
        dist.all_reduce(gradients[0])
        dist.all_reduce(gradients[1])
    else:
        time.sleep(2 if step == 30 else 0)
        for gradient in gradients:
            dist.all_reduce(gradient)
    optimizer.step()
dist.destroy_process_group()
