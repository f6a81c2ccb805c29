"""Train, send the weights to another folder in pieces, and load them there."""
import os
import tempfile

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
for step in range(60):
    x = torch.randn(64, 4)
    loss = nn.functional.mse_loss(model(x).squeeze(1), x[:, 0] * x[:, 1])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

PIECE = 1024


def send(source, target, pieces):
    with open(source, "rb") as given, open(target, "wb") as taken:
        for _ in range(pieces):
            taken.write(given.read(PIECE))


folder = tempfile.mkdtemp()
source, target = os.path.join(folder, "weights.pt"), os.path.join(folder, "copy.pt")
torch.save(model.state_dict(), source)
send(source, target, os.path.getsize(source) // PIECE + 1)
model.load_state_dict(torch.load(target))
print(model(torch.zeros(1, 4)))
