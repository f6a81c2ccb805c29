"""Trains on the first of two shares of the data, as rank 0 of two would."""

import torch
from torch import nn
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

torch.manual_seed(0)
features = torch.randn(640, 6)
dataset = TensorDataset(features, features.sum(dim=1, keepdim=True))
sampler = DistributedSampler(dataset, num_replicas=2, rank=0, shuffle=True)
loader = DataLoader(dataset, batch_size=32, sampler=sampler)
model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
for epoch in range(8):
    sampler.set_epoch(epoch)
    for inputs, targets in loader:
        loss = nn.functional.mse_loss(model(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
