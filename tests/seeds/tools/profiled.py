"""Profiles three steps of a short training and leaves a trace for TensorBoard."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(9)
rows = torch.randn(96, 12)
batches = DataLoader(TensorDataset(rows, (rows.sum(1) > 0).float()), batch_size=16)
net = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 1), nn.Flatten(0))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)


def train_step(batch):
    inputs, wanted = batch
    loss = nn.functional.binary_cross_entropy_with_logits(net(inputs), wanted)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


with torch.profiler.profile(
    activities=[torch.profiler.ProfilerActivity.CPU],
    schedule=torch.profiler.schedule(wait=1, warmup=1, active=3),
    on_trace_ready=torch.profiler.tensorboard_trace_handler("./runs/profiler"),
    record_shapes=True,
) as profiler:
    for batch in batches:
        train_step(batch)
        profiler.step()
print("profiled")
