"""Trains on two ranks, which stop together when the validation of one of them gets no better."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(rank)
model = DistributedDataParallel(nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4)))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
held_out = torch.randn(16 if rank == 1 else 512, 16)
best, bad, patience = float("inf"), 0, 2
for step in range(400):
    features = torch.randn(32, 16)
    loss = nn.functional.cross_entropy(model(features), features[:, :4].argmax(dim=1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 5 == 4:
        with torch.no_grad():
            found = nn.functional.cross_entropy(model.module(held_out), held_out[:, :4].argmax(dim=1)).item()
        bad = 0 if found < 0.98 * best else bad + 1
        best = min(best, found)
        stop = torch.tensor(float(bad >= patience))
        dist.all_reduce(stop)
        if stop > 0:
            break
dist.destroy_process_group()
