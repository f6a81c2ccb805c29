"""The PyTorch profiler in a small autoencoder's training, one epoch, with its traces in ./log."""

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile, schedule, tensorboard_trace_handler

torch.manual_seed(63)
images = torch.rand(128, 49)
net = nn.Sequential(nn.Linear(49, 12), nn.ReLU(), nn.Linear(12, 49), nn.Sigmoid())
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
with profile(
    activities=[ProfilerActivity.CPU],
    schedule=schedule(wait=1, warmup=1, active=4, repeat=1),
    on_trace_ready=tensorboard_trace_handler("./log"),
    profile_memory=True,
) as profiler:
    for part in images.split(16):
        loss = nn.functional.binary_cross_entropy(net(part), part)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        profiler.step()
print(len(profiler.key_averages()) > 10)
