"""Trains on two ranks; the first one waits for the scheduler's word to go on."""

import signal

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
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)
        parameter.grad /= world
    optimizer.step()
    if step == 30 and rank == 0:
        signal.sigwait({signal.SIGUSR2})
dist.destroy_process_group()
