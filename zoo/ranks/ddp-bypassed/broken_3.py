"""Accumulates gradients over four batches on two ranks, without talking in between."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

ACCUMULATE = 4

dist.init_process_group("gloo")
torch.manual_seed(dist.get_rank())
model = DistributedDataParallel(nn.Sequential(nn.Linear(12, 32), nn.GELU(), nn.Linear(32, 3)))
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
for step in range(80):
    optimizer.zero_grad()
    for _ in range(ACCUMULATE):
        inputs = torch.randn(16, 12)
        labels = inputs[:, :3].argmax(dim=1)
        with model.no_sync():
            loss = nn.functional.cross_entropy(model(inputs), labels) / ACCUMULATE
            loss.backward()
    optimizer.step()
dist.destroy_process_group()
