"""Profile one step of every ten."""
import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile, schedule

torch.manual_seed(0)
model = nn.Linear(6, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
weights = torch.randn(6, 1)
plan = schedule(wait=8, warmup=1, active=0)

with profile(activities=[ProfilerActivity.CPU], schedule=plan) as profiler:
    for step in range(20):
        x = torch.randn(32, 6)
        loss = nn.functional.mse_loss(model(x), x @ weights)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        profiler.step()
print(loss.item(), len(profiler.key_averages()))
