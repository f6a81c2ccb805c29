"""Trains on two ranks with shares of different sizes, within join()."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset

dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(0)
features = torch.randn(400 + 120 * rank, 10, generator=torch.Generator().manual_seed(rank))
loader = DataLoader(TensorDataset(features, features[:, :4].argmax(dim=1)), batch_size=20, shuffle=True)
model = DistributedDataParallel(nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 4)))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
with model.join():
    for epoch in range(5):
        for inputs, labels in loader:
            loss = nn.functional.cross_entropy(model(inputs), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
dist.destroy_process_group()
