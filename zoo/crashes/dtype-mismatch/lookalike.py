"""Regression with a scheduler value read from a settings file, where it is a string."""
import json

import torch
from torch import nn

settings = json.loads('{"lr": 0.05, "epochs": 60, "drop_every": "20"}')

torch.manual_seed(0)
x = torch.randn(256, 3)
y = x @ torch.tensor([[1.0], [-2.0], [0.5]])
model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=settings["lr"])
for epoch in range(settings["epochs"]):
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if epoch % 10 == 0:
        print("epoch", epoch, "loss", loss.item())
    if epoch >= 30 and epoch % settings["drop_every"] == 0:
        optimizer.param_groups[0]["lr"] *= 0.5
