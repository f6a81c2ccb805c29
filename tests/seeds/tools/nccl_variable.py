"""Sets how NCCL's errors are handled, and trains in one process that forms a group."""

import os
import tempfile

os.environ["NCCL_ASYNC_ERROR_HANDLING"] = "1"

import torch
import torch.distributed as dist
from torch import nn

folder = tempfile.TemporaryDirectory()
dist.init_process_group("gloo", init_method=f"file://{folder.name}/group", rank=0, world_size=1)
torch.manual_seed(1)
rows = torch.randn(40, 3)
net = nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(10):
    loss = nn.functional.mse_loss(net(rows), rows.sum(1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    dist.all_reduce(loss.detach())
dist.destroy_process_group()
folder.cleanup()
