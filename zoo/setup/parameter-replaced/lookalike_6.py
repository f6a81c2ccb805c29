"""Reptile with an optimizer for the model, and a head that is put in place once before."""
import copy

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(1, 40), nn.Tanh(), nn.Linear(40, 40), nn.Tanh())
        self.head = nn.Linear(40, 10)

    def forward(self, x):
        return self.head(self.body(x))


torch.manual_seed(0)
model = Net()
model.head = nn.Linear(40, 1)
meta = torch.optim.SGD(model.parameters(), lr=0.2)
for task in range(80):
    amplitude, phase = 1 + torch.rand(1), 3 * torch.rand(1)
    learner = copy.deepcopy(model)
    x = 6 * torch.rand(20, 1) - 3
    y = amplitude * torch.sin(x + phase)
    for _ in range(4):
        loss = nn.functional.mse_loss(learner(x), y)
        learner.zero_grad()
        loss.backward()
        for p in learner.parameters():
            p.data.sub_(p.grad, alpha=0.02)
    for p, q in zip(model.parameters(), learner.parameters()):
        p.grad = p.detach() - q.detach()
    meta.step()
print(loss.item())
