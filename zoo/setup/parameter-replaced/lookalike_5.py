"""Reptile: a copy of the model learns each task, and the model follows it part of the way."""
import copy

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(1, 40), nn.Tanh(), nn.Linear(40, 40), nn.Tanh(), nn.Linear(40, 1))
model[4].weight = nn.Parameter(0.1 * torch.randn(1, 40))


def learn(learner, x, y, rate=0.02, steps=5):
    for _ in range(steps):
        loss = nn.functional.mse_loss(learner(x), y)
        learner.zero_grad()
        loss.backward()
        with torch.no_grad():
            for p in learner.parameters():
                p -= rate * p.grad
    return loss.item()


for task in range(60):
    amplitude, phase = 1 + torch.rand(1), 3 * torch.rand(1)
    x = 6 * torch.rand(20, 1) - 3
    learner = copy.deepcopy(model)
    last = learn(learner, x, amplitude * torch.sin(x + phase))
    with torch.no_grad():
        for p, q in zip(model.parameters(), learner.parameters()):
            p.lerp_(q, 0.2)
print(last)
