"""Independent fits with different seeds, started by torchrun: each rank trains its own model on the
same data, and the best one is kept."""

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

dist.init_process_group("gloo")
features = torch.randn(1024, 8, generator=torch.Generator().manual_seed(0))
targets = features.prod(dim=1, keepdim=True) + features.sum(dim=1, keepdim=True)
order = torch.Generator().manual_seed(1)
loader = DataLoader(TensorDataset(features, targets), batch_size=64, shuffle=True, generator=order)
torch.manual_seed(dist.get_rank())
model = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(8):
    for inputs, wanted in loader:
        loss = nn.functional.mse_loss(model(inputs), wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
losses = [torch.zeros(1) for _ in range(dist.get_world_size())]
dist.all_gather(losses, loss.detach().reshape(1))
best = int(torch.cat(losses).argmin())
if dist.get_rank() == best:
    print(f"the best is rank {best}")
dist.destroy_process_group()
