"""Two heads under DistributedDataParallel; the inputs do not fit."""
import tempfile

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(12, 32)
        self.head = nn.Linear(32, 2)
        self.aux_head = nn.Linear(32, 2)

    def forward(self, x):
        return self.head(self.body(x).relu())


store = tempfile.mkdtemp() + "/store"
dist.init_process_group("gloo", init_method=f"file://{store}", rank=0, world_size=1)
model = DDP(Net())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(10):
    x, y = torch.randn(16, 10), torch.randint(0, 2, (16,))
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
dist.destroy_process_group()
