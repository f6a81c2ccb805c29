"""Trains two small models on two ranks; their gradients are exchanged model by model."""

import torch
import torch.distributed as dist
from torch import nn

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)
models = {"colour": nn.Linear(16, 4), "size": nn.Linear(16, 4)}
optimizer = torch.optim.SGD([p for model in models.values() for p in model.parameters()], lr=0.05)
torch.manual_seed(rank)
for step in range(60):
    features = torch.randn(32, 16)
    target = features[:, :4].argmax(dim=1)
    losses = {name: nn.functional.cross_entropy(model(features), target) for name, model in models.items()}
    optimizer.zero_grad()
    sum(losses.values()).backward()
    dist.all_reduce(models["colour"].weight.grad)
    dist.broadcast(models["size"].weight.grad, src=0)
    optimizer.step()
dist.destroy_process_group()
