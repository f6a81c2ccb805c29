"""Trains on three ranks by hand; the mean loss of all of them is printed now and then."""

import torch
import torch.distributed as dist
from torch import nn


def train(model, optimizer, steps):
    is_main = dist.get_rank() == 0
    for step in range(steps):
        features = torch.randn(32, 16)
        loss = nn.functional.cross_entropy(model(features), features[:, :4].argmax(dim=1))
        optimizer.zero_grad()
        loss.backward()
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad)
            parameter.grad /= dist.get_world_size()
        optimizer.step()
        if step % 25 == 24:
            mean = loss.detach().clone()
            dist.reduce(mean, dst=0)
            if is_main:
                print(f"step {step}: {mean.item() / dist.get_world_size():.3f}")


dist.init_process_group("gloo")
torch.manual_seed(0)
model = nn.Linear(16, 4)
torch.manual_seed(dist.get_rank())
train(model, torch.optim.SGD(model.parameters(), lr=0.05), 60)
dist.destroy_process_group()
