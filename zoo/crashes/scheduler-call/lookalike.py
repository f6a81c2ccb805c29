"""A scheduler of our own that counts its steps and refuses one too many."""
import torch
from torch import nn


class Warmup:
    def __init__(self, optimizer, total):
        self.optimizer, self.total, self.count = optimizer, total, 0

    def step(self):
        self.count += 1
        if self.count > self.total:
            raise ValueError(f"Tried to step {self.count} times. The specified number of total steps is {self.total}")
        for group in self.optimizer.param_groups:
            group["lr"] = 0.1 * self.count / self.total


torch.manual_seed(0)
model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scheduler = Warmup(optimizer, 5)
for _ in range(10):
    x = torch.randn(16, 3)
    loss = nn.functional.mse_loss(model(x), x[:, :1])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
