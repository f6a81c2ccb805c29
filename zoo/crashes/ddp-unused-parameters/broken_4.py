"""A network with two outputs, of which one is predicted for later use."""
import tempfile

import torch
import torch.distributed as dist
import torch.nn.functional as F
import torch.nn.parallel as parallel
from torch import nn


class TwoHeads(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(10, 32), nn.ReLU())
        self.mean = nn.Linear(32, 1)
        self.log_variance = nn.Linear(32, 1)

    def forward(self, x):
        h = self.body(x)
        return self.mean(h), self.log_variance(h)


def train(model, x, y, steps):
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for step in range(steps):
        mean, log_variance = model(x)
        loss = F.mse_loss(mean, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 20 == 0:
            print(f"step {step}: loss {loss.item():.4f}")


def main():
    store = tempfile.mkdtemp() + "/store"
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=0, world_size=1)
    torch.manual_seed(0)
    x = torch.randn(256, 10)
    y = x.sum(dim=1, keepdim=True)
    model = parallel.DistributedDataParallel(TwoHeads())
    train(model, x, y, 60)
    dist.destroy_process_group()


main()
