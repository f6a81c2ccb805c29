"""Fine-tunes on two ranks from a checkpoint of the head."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(12, 32), nn.ReLU())
        self.head = nn.Linear(32, 5)

    def forward(self, x):
        return self.head(self.body(x))


def pretrained_head():
    return nn.Linear(32, 5).state_dict()


dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(11)
model = DistributedDataParallel(Tagger())
if rank == 0:
    model.module.head.load_state_dict(pretrained_head())
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
torch.manual_seed(50 + rank)
for step in range(80):
    x = torch.randn(24, 12)
    loss = nn.functional.cross_entropy(model(x), x[:, :5].argmax(dim=1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
dist.destroy_process_group()
