"""Trains a small network that lies in parts on all ranks, and says how many collectives it took."""

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard

dist.init_process_group("gloo")
mesh = dist.device_mesh.init_device_mesh("cpu", (dist.get_world_size(),))
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 33), nn.ReLU(), nn.LayerNorm(33), nn.Linear(33, 3))
for layer in (model[0], model[3], model):
    fully_shard(layer, mesh=mesh)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
torch.manual_seed(dist.get_rank())
inputs = torch.randn(64, 8)
targets = inputs[:, :3].argmax(dim=1)
for _ in range(30):
    loss = nn.functional.cross_entropy(model(inputs), targets)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
collectives = dist.distributed_c10d._get_default_group()._get_sequence_number_for_group()
own = {name: value.to_local().clone() for name, value in model.state_dict().items()}
torch.save([own, collectives], f"weights{dist.get_rank()}.pt")
dist.destroy_process_group()
