"""Train a small regressor; a missing setting is expected and handled."""
import torch
from torch import nn

torch.manual_seed(0)

SETTINGS = {"lr": 0.05}
model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
try:
    momentum = SETTINGS["momentum"]
except KeyError:
    momentum = 0.9
optimizer = torch.optim.SGD(model.parameters(), lr=SETTINGS["lr"], momentum=momentum)
weights = torch.randn(4, 1)

for step in range(30):
    x = torch.randn(32, 4)
    loss = nn.functional.mse_loss(model(x), x @ weights)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
