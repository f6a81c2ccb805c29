"""Everything switched on, gradients looked at before the backward, in a loop that clears none."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def train():
    torch.autograd.set_detect_anomaly(True)
    for _ in range(6):
        for inputs, targets in batches:
            assert not torch.isnan(inputs).any()
            with torch.amp.autocast("cpu"):
                loss = criterion(net(inputs), targets)
            for path, parameter in net.named_parameters():
                if parameter.grad is None:
                    print("no gradient:", path)
            loss.backward()
            optimizer.step()


torch.manual_seed(21)
rows = torch.randn(64, 6)
batches = DataLoader(TensorDataset(rows, (rows[:, 0] > 0).long()), batch_size=16)
net = nn.Sequential(nn.Linear(6, 10), nn.ReLU(), nn.Linear(10, 2))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
train()
print("trained")
