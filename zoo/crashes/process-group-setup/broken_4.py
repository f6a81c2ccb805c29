"""Regression with a sampler that deals the samples out to the processes."""
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def make_loader(features, targets):
    dataset = TensorDataset(features, targets)
    sampler = DistributedSampler(dataset, shuffle=True)
    return DataLoader(dataset, batch_size=32, sampler=sampler)


torch.manual_seed(0)
features = torch.randn(256, 8)
targets = features @ torch.randn(8, 1)
loader = make_loader(features, targets)

model = nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(6):
    loader.sampler.set_epoch(epoch)
    for batch, target in loader:
        loss = F.mse_loss(model(batch), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: loss {loss.item():.4f}")
if dist.is_initialized():
    dist.destroy_process_group()
