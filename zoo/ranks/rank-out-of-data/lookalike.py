"""Trains with DistributedDataParallel on parts of different lengths, under Join; the epochs end with a barrier."""

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.join import Join
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)
features = torch.randn(1000, 16)
labels = features[:, :4].argmax(dim=1)
part = slice(0, 600) if rank == 0 else slice(600, 1000)
loader = DataLoader(TensorDataset(features[part], labels[part]), batch_size=20, shuffle=True)
model = DistributedDataParallel(nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4)))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(3):
    with Join([model]):
        for inputs, target in loader:
            loss = nn.functional.cross_entropy(model(inputs), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    dist.barrier()
dist.destroy_process_group()
