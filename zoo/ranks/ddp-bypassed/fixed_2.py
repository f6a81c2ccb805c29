"""Fits a function on two ranks; the trainer keeps the network and its wrapper."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


class Trainer:
    def __init__(self, net, rank):
        self.net = net
        self.ddp = DDP(net)
        self.optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
        self.generator = torch.Generator().manual_seed(100 + rank)

    def batch(self):
        x = torch.randn(64, 6, generator=self.generator)
        return x, torch.sin(x).sum(1, keepdim=True)

    def step(self):
        x, y = self.batch()
        loss = F.mse_loss(self.ddp(x), y)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


dist.init_process_group("gloo")
torch.manual_seed(7)
trainer = Trainer(nn.Sequential(nn.Linear(6, 48), nn.Tanh(), nn.Linear(48, 1)), dist.get_rank())
for _ in range(100):
    trainer.step()
dist.destroy_process_group()
