"""The same small data set, but the best weights are kept and put back at the end."""
import copy

import torch
from torch import nn

torch.manual_seed(0)
labeller = torch.randn(20)


def data(count):
    x = torch.randn(count, 20)
    return x, ((x @ labeller + 3 * torch.randn(count)) > 0).long()


train, validation = data(80), data(300)
model = nn.Sequential(nn.Linear(20, 96), nn.ReLU(), nn.Linear(96, 2))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
best, kept = float("inf"), None
for epoch in range(1, 161):
    loss = criterion(model(train[0]), train[1])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if epoch % 8 == 0:
        with torch.no_grad():
            value = criterion(model(validation[0]), validation[1]).item()
        if value < best:
            best, kept = value, copy.deepcopy(model.state_dict())
model.load_state_dict(kept)
print("best validation loss", best)
