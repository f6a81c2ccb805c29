"""A profiler with a schedule, stepped as it should be: a table and one trace."""
import os
import tempfile

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile, schedule

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
weights = torch.randn(8, 1)
plan = schedule(wait=1, warmup=1, active=2, repeat=1)

with tempfile.TemporaryDirectory() as folder:
    with profile(activities=[ProfilerActivity.CPU], schedule=plan) as prof:
        for step in range(30):
            x = torch.randn(64, 8)
            loss = nn.functional.mse_loss(model(x), x @ weights)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            prof.step()
    print(loss.item(), len(prof.key_averages()))
    prof.export_chrome_trace(os.path.join(folder, "trace.json"))
