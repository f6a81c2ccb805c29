"""Sums the counts of classes over two ranks, each of which has met other classes."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(rank)
model = DDP(nn.Sequential(nn.Linear(8, 24), nn.Tanh(), nn.Linear(24, 6)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
seen = []
for step in range(60):
    x = torch.randn(32, 8)
    y = x[:, : 4 + 2 * rank].argmax(dim=1)
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    seen.append(y)
counts = torch.bincount(torch.cat(seen))
dist.all_reduce(counts)
dist.destroy_process_group()
