"""Trains on two ranks; checkpoints are kept in a small store that is safe to use from threads."""

import threading

import torch
import torch.distributed as dist
from torch import nn


class Store:
    def __init__(self):
        self.lock = threading.RLock()
        self.kept = {}

    def best(self):
        with self.lock:
            return min(self.kept, default=float("inf"))

    def offer(self, loss, weights):
        with self.lock:
            if loss < 0.9 * self.best():
                self.kept[loss] = weights


dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(0)
model = nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
store = Store()
torch.manual_seed(rank)
for step in range(60):
    features = torch.randn(32, 8)
    loss = nn.functional.mse_loss(model(features), features.sum(dim=1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)
        parameter.grad /= dist.get_world_size()
    optimizer.step()
    if rank == 1 and step >= 30:
        store.offer(loss.item(), {name: value.clone() for name, value in model.state_dict().items()})
dist.destroy_process_group()
