"""Trains a regression and gathers the predictions of all processes after each epoch."""
import tempfile

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn


def gather(predictions):
    parts = [torch.empty(32, 1) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, predictions)
    return torch.cat(parts)


store = tempfile.mkdtemp() + "/store"
dist.init_process_group("gloo", init_method=f"file://{store}", rank=0, world_size=1)
torch.manual_seed(0)
x = torch.randn(200, 6)
y = x @ torch.randn(6, 1)
model = nn.Linear(6, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(4):
    gathered = []
    for start in range(0, 200, 32):
        predictions = model(x[start : start + 32])
        loss = F.mse_loss(predictions, y[start : start + 32])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        gathered.append(gather(predictions.detach()))
    print(f"epoch {epoch}: loss {loss.item():.4f}, {sum(map(len, gathered))} predictions")
dist.destroy_process_group()
