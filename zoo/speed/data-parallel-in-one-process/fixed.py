"""A deep residual network, one process for each GPU: `torchrun --nproc_per_node=2 fixed.py` for two."""
import os

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)

    def forward(self, x):
        return x + 0.2 * self.down(torch.relu(self.up(self.norm(x))))


class Network(nn.Module):
    def __init__(self, width=512, depth=16):
        super().__init__()
        self.stem = nn.Linear(64, width)
        self.blocks = nn.Sequential(*(Block(width) for _ in range(depth)))
        self.head = nn.Linear(width, 10)

    def forward(self, x):
        return self.head(self.blocks(self.stem(x)))


os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
os.environ.setdefault("MASTER_PORT", "29517")
rank, processes = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
torch.cuda.set_device(rank)
torch.distributed.init_process_group("nccl", rank=rank, world_size=processes)

torch.manual_seed(0)
kinds = torch.randn(10, 64, device="cuda")
model = nn.parallel.DistributedDataParallel(Network().cuda(), device_ids=[rank])
torch.manual_seed(rank)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, fused=True)

for step in range(250):
    labels = torch.randint(0, 10, (1024 // processes,), device="cuda")
    x = kinds[labels] + torch.randn(1024 // processes, 64, device="cuda")
    loss = nn.functional.cross_entropy(model(x), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 49:
        print(f"step {step + 1}: loss {loss.item():.4f}")
torch.distributed.destroy_process_group()
