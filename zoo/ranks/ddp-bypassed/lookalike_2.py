"""Every rank adapts its own copy for some steps between averages of the weights (local SGD)."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
DistributedDataParallel(net)  # the same weights everywhere
optimizer = torch.optim.SGD(net.parameters(), lr=0.02)
torch.manual_seed(rank + 1)
for step in range(120):
    inputs = torch.randn(32, 8)
    loss = nn.functional.mse_loss(net(inputs), inputs.sum(dim=1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 5 == 4:
        with torch.no_grad():
            for parameter in net.parameters():
                dist.all_reduce(parameter)
                parameter /= world
dist.destroy_process_group()
