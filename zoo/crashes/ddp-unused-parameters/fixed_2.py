"""A linear probe: a frozen encoder gives the features, a small head is trained on them."""
import tempfile

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel

store = tempfile.mkdtemp() + "/store"
dist.init_process_group("gloo", init_method=f"file://{store}", rank=0, world_size=1)
torch.manual_seed(0)
x = torch.randn(512, 16)
y = (x[:, 0] + x[:, 1] > 0).long()

encoder = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
for parameter in encoder.parameters():
    parameter.requires_grad = False
head = nn.Linear(64, 2)

head = DistributedDataParallel(head)
optimizer = torch.optim.Adam(head.parameters(), lr=1e-2)
for step in range(80):
    with torch.no_grad():
        features = encoder(x)
    loss = F.cross_entropy(head(features), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.3f}")
dist.destroy_process_group()
