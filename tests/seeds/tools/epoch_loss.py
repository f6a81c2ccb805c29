"""One number an epoch: the mean loss of its batches."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.tensorboard import SummaryWriter


def one_epoch(net, batches):
    total = 0.0
    for rows, target in batches:
        loss = nn.functional.smooth_l1_loss(net(rows), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(batches)


torch.manual_seed(8)
rows = torch.randn(192, 5)
target = rows.sin().sum(1, keepdim=True)
batches = DataLoader(TensorDataset(rows, target), batch_size=24, shuffle=True)
net = nn.Sequential(nn.Linear(5, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
writer = SummaryWriter("./runs/first_try")
for epoch in range(12):
    writer.add_scalar("Loss/train", one_epoch(net, batches), epoch)
writer.close()
