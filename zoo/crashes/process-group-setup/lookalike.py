"""Reads the number of this process from a config that does not have it."""
import torch
from torch import nn

config = {"lr": 0.1, "WORLD_SIZE": 1}
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=config["lr"])
rank = config["RANK"]
torch.manual_seed(rank)
loss = model(torch.randn(8, 4)).pow(2).mean()
loss.backward()
optimizer.step()
