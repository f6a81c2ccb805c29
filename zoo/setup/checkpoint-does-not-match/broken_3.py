"""Resume: the checkpoint holds the model beside the optimizer and the epoch."""
import os
import tempfile

import torch
from torch import nn

torch.manual_seed(30)
inputs = torch.randn(512, 10)
targets = torch.sin(inputs[:, :1] * 2) + inputs[:, 1:2]


def make():
    net = nn.Sequential(nn.Linear(10, 48), nn.Tanh(), nn.Linear(48, 1))
    return net, torch.optim.Adam(net.parameters(), lr=5e-3)


def epoch(net, optimizer):
    total = 0.0
    for rows in torch.randperm(512).split(64):
        loss = nn.functional.mse_loss(net(inputs[rows]), targets[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() / 8
    return total


path = os.path.join(tempfile.mkdtemp(), "last.pt")
net, optimizer = make()
for number in range(15):
    loss = epoch(net, optimizer)
torch.save({"net": net.state_dict(), "optimizer": optimizer.state_dict(), "epoch": number}, path)
print("first run ends at", round(loss, 4))

net, optimizer = make()
checkpoint = torch.load(path)
net.load_state_dict(checkpoint, strict=False)
for number in range(checkpoint["epoch"] + 1, checkpoint["epoch"] + 6):
    print(number, round(epoch(net, optimizer), 4))
