"""A normalization of the script's own, with a guard of its own."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Whiten(nn.Module):
    def forward(self, x):
        if len(x) < 4:
            raise ValueError(f"Expected more than 1 value per channel when training, got input size {x.shape}")
        return (x - x.mean(0)) / (x.std(0) + 1e-5)


torch.manual_seed(0)
data = TensorDataset(torch.randn(33, 6), torch.randn(33, 1))
net = nn.Sequential(nn.Linear(6, 16), Whiten(), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)

for _ in range(3):
    for x, y in DataLoader(data, batch_size=8):
        loss = nn.functional.mse_loss(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
