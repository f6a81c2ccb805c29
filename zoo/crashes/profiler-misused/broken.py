"""Profile some training steps, then look at where the time goes."""
import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile, schedule

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
weights = torch.randn(8, 1)

with profile(activities=[ProfilerActivity.CPU], schedule=schedule(wait=2, warmup=1, active=3)) as prof:
    for step in range(30):
        x = torch.randn(64, 8)
        loss = nn.functional.mse_loss(model(x), x @ weights)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
print(loss.item())
print(prof.key_averages().table(row_limit=5))
