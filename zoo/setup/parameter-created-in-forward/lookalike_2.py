"""First-order meta-learning: a fresh copy of the model for every task, moved by hand."""
import copy

import torch
from torch import nn

torch.manual_seed(3)
model = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 1))
meta = torch.optim.Adam(model.parameters(), lr=2e-3)
for iteration in range(120):
    phase = 3.14 * torch.rand(1)
    learner = copy.deepcopy(model)
    for _ in range(3):
        x = 4 * torch.rand(16, 1) - 2
        loss = nn.functional.mse_loss(learner(x), torch.sin(x + phase))
        learner.zero_grad()
        loss.backward()
        with torch.no_grad():
            for p in learner.parameters():
                p -= 0.05 * p.grad
    x = 4 * torch.rand(16, 1) - 2
    loss = nn.functional.mse_loss(learner(x), torch.sin(x + phase))
    learner.zero_grad()
    loss.backward()
    for p, q in zip(model.parameters(), learner.parameters()):
        p.grad = q.grad.clone()
    meta.step()
    if iteration % 30 == 0:
        print(iteration, round(loss.item(), 4))
