"""A deep residual network that shares one block and checkpoints it to save memory."""
import tempfile

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.checkpoint import checkpoint


class Residual(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.depth = depth
        self.enter = nn.Linear(8, width)
        self.block = nn.Sequential(nn.Linear(width, width), nn.Tanh())
        self.leave = nn.Linear(width, 1)

    def forward(self, x):
        h = self.enter(x)
        for _ in range(self.depth):
            h = h + checkpoint(self.block, h, use_reentrant=False)
        return self.leave(h)


store = tempfile.mkdtemp() + "/store"
dist.init_process_group("gloo", init_method=f"file://{store}", rank=0, world_size=1)
torch.manual_seed(0)
x = torch.randn(256, 8)
y = x[:, :1] * 2 - x[:, 1:2]
model = DistributedDataParallel(Residual(24, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(60):
    loss = F.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(f"step {step}: loss {loss.item():.4f}")
dist.destroy_process_group()
