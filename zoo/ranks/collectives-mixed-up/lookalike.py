"""Two ranks with different roles: the first one reads the settings and prepares the data, the other one waits; each
sends its part of the parameters from a line of its own."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def average(value: torch.Tensor) -> float:
    value = value.detach().clone()
    dist.all_reduce(value)
    return value.item() / dist.get_world_size()


dist.init_process_group("gloo")
rank = dist.get_rank()
settings = [{"lr": 2e-3, "width": 32} if rank == 0 else None]
if rank != 0:
    dist.barrier()
torch.manual_seed(rank)
if rank == 0:
    dist.barrier()
dist.broadcast_object_list(settings, src=0)
width = settings[0]["width"]
model = DistributedDataParallel(nn.Sequential(nn.Linear(12, width), nn.ReLU(), nn.Linear(width, 3)))
optimizer = torch.optim.Adam(model.parameters(), lr=settings[0]["lr"])
table = torch.zeros(2, 4)
for source in range(2):
    if source == rank:
        dist.broadcast(torch.full((4,), float(rank)), source)
    else:
        dist.broadcast(table[source], source)
for step in range(80):
    inputs = torch.randn(32, 12)
    logits = model(inputs)
    loss = nn.functional.cross_entropy(logits, inputs[:, :3].argmax(dim=1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    average(loss)
    if step % 20 == 19:
        losses = [torch.zeros(()) for _ in range(2)] if rank == 0 else None
        dist.gather(loss.detach(), losses)
dist.destroy_process_group()
