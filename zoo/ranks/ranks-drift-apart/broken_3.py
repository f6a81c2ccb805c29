"""Trains on two ranks with a rate that falls when the loss does not."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.optim.lr_scheduler import ReduceLROnPlateau


def batch(generator):
    inputs = torch.randn(32, 8, generator=generator)
    return inputs, inputs[:, :3].argmax(dim=1)


dist.init_process_group("gloo")
torch.manual_seed(0)
model = DistributedDataParallel(nn.Sequential(nn.Linear(8, 24), nn.ReLU(), nn.Linear(24, 3)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scheduler = ReduceLROnPlateau(optimizer, factor=0.5, patience=1)
generator = torch.Generator().manual_seed(dist.get_rank())
for epoch in range(30):
    for _ in range(4):
        inputs, labels = batch(generator)
        loss = nn.functional.cross_entropy(model(inputs), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    scheduler.step(loss.item())
dist.destroy_process_group()
