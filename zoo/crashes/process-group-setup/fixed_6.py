"""Train on the device that belongs to this process."""
import os

import torch
import torch.nn.functional as F
from torch import nn

local_rank = int(os.environ.get("LOCAL_RANK", "0"))
device = torch.device(f"cuda:{local_rank}" if torch.cuda.is_available() else "cpu")

torch.manual_seed(local_rank)
x = torch.randn(256, 10, device=device)
y = (x.sum(dim=1) > 0).float()
model = nn.Sequential(nn.Linear(10, 16), nn.Tanh(), nn.Linear(16, 1)).to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(60):
    loss = F.binary_cross_entropy_with_logits(model(x).squeeze(1), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.3f}")
