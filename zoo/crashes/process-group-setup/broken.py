"""Data-parallel training of a small classifier."""
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group("gloo")

torch.manual_seed(0)
x = torch.randn(512, 16)
y = (x @ torch.randn(16, 3)).argmax(dim=1)

model = DDP(nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 3)))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(60):
    index = torch.randint(0, 512, (64,))
    loss = F.cross_entropy(model(x[index]), y[index])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0 and dist.get_rank() == 0:
        print(f"step {step}: loss {loss.item():.3f}")
dist.destroy_process_group()
