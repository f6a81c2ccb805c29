"""Trains on two ranks whose batches differ in size; the sizes are exchanged before what is gathered."""

import torch
import torch.distributed as dist
from torch import nn

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)
model = nn.Linear(16, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for step in range(60):
    features = torch.randn(32 + 8 * rank, 16)
    loss = nn.functional.cross_entropy(model(features), features[:, :4].argmax(dim=1))
    optimizer.zero_grad()
    loss.backward()
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)
        parameter.grad /= world
    optimizer.step()
    if step % 10 == 9:
        size = torch.tensor([len(features)])
        dist.all_reduce(size, op=dist.ReduceOp.MAX)
        padded = torch.zeros(int(size), 16)
        padded[: len(features)] = features
        gathered = [torch.empty_like(padded) for _ in range(world)]
        dist.all_gather(gathered, padded)
dist.destroy_process_group()
