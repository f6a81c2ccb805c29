"""Serve a trained network: the weights come from a file in memory."""
import io

import torch
from torch import nn


def load(file):
    return torch.load(file, map_location="cpu")


torch.manual_seed(0)
model = nn.Linear(6, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
for step in range(50):
    x = torch.randn(32, 6)
    loss = nn.functional.cross_entropy(model(x), (x[:, 0] > 0).long())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

file = io.BytesIO()
torch.save(model.state_dict(), file)
file.seek(0)
served = nn.Linear(6, 2)
served.load_state_dict(load(file))
print(served(torch.randn(3, 6)).argmax(1))
