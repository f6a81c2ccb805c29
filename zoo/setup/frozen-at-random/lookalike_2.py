"""Trained on one task, frozen, and a new head for another: some steps move weights out of their first range."""
import torch
from torch import nn

torch.manual_seed(2)
body = nn.Sequential(nn.Linear(24, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
mix = torch.randn(24, 6)


def fit(model, parameters, tasks, steps):
    optimizer = torch.optim.Adam(parameters, lr=3e-3)
    for _ in range(steps):
        x = torch.randn(64, 24)
        loss = nn.functional.mse_loss(model(x), torch.tanh(x @ mix)[:, tasks])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


first = nn.Sequential(body, nn.Linear(64, 4))
print(fit(first, first.parameters(), slice(0, 4), 150))
body.requires_grad_(False)
head = nn.Linear(64, 2)
second = nn.Sequential(body, head)
print(fit(second, head.parameters(), slice(4, 6), 150))
