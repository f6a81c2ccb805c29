"""Warm restarts: the cosine comes back up every few batches, and is meant to."""
import torch
from torch import nn
from torch.optim.lr_scheduler import CosineAnnealingWarmRestarts
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(13)
data = torch.randn(480, 4)
target = data[:, 0] * data[:, 1]
loader = DataLoader(TensorDataset(data, target), batch_size=20, shuffle=True)
net = nn.Sequential(nn.Linear(4, 40), nn.Tanh(), nn.Linear(40, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9)
restarts = CosineAnnealingWarmRestarts(opt, T_0=10)
for epoch in range(10):
    for a, b in loader:
        opt.zero_grad()
        loss = (net(a).squeeze(1) - b).pow(2).mean()
        loss.backward()
        opt.step()
        restarts.step()
    print(epoch, round(loss.item(), 4))
