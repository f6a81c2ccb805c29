"""Logs the mean loss, with the step counted by a name that the loop does not have."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.tensorboard import SummaryWriter

torch.manual_seed(5)
points = torch.randn(480, 6)
kinds = (points[:, 0] * points[:, 1] > 0).long()
batches = DataLoader(TensorDataset(points, kinds), batch_size=16, shuffle=True)
net = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 2))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.2, momentum=0.5)
writer = SummaryWriter()
every = 10
for epoch in range(5):
    collected = 0.0
    for number, (inputs, labels) in enumerate(batches):
        optimizer.zero_grad()
        loss = criterion(net(inputs), labels)
        loss.backward()
        optimizer.step()
        collected += loss.item()
        if number % every == every - 1:
            writer.add_scalar("training_loss", collected / every, epoch * len(batches) + index)
            collected = 0.0
writer.close()
print("the last loss is low:", loss.item() < 0.5)
