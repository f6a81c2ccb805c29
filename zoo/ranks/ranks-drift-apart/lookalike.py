"""Trains on two ranks with BatchNorm, whose averages are each rank's own; each rank has a head of its own for a
quantity that only its sensors measure."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(0)
layers = nn.Sequential(nn.Linear(8, 32, bias=False), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 4))
model = DistributedDataParallel(layers)
torch.manual_seed(rank + 1)
own_head = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
own_optimizer = torch.optim.SGD(own_head.parameters(), lr=0.005)
for step in range(120):
    inputs = torch.randn(32, 8)
    features = model(inputs)
    loss = nn.functional.cross_entropy(features, inputs[:, :4].argmax(dim=1))
    own_loss = nn.functional.mse_loss(own_head(features.detach()), inputs[:, rank : rank + 1])
    optimizer.zero_grad()
    own_optimizer.zero_grad()
    (loss + own_loss).backward()
    optimizer.step()
    own_optimizer.step()
dist.destroy_process_group()
