"""A loader whose last batch holds one sample, which every layer of the model can take."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(65, 1, 10)
loader = DataLoader(TensorDataset(x, x.mean(2)), batch_size=16)
net = nn.Sequential(nn.Conv1d(1, 8, 3), nn.BatchNorm1d(8), nn.ReLU(), nn.Flatten(), nn.Linear(64, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)

for epoch in range(8):
    for signal, mean in loader:
        loss = nn.functional.mse_loss(net(signal), mean)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, round(loss.item(), 4))
