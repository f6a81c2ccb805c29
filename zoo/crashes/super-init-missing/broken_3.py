"""Regression with a dataset of windows over a sine wave."""
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class WindowDataset(Dataset):
    def __int__(self, series, length):
        self.series = series
        self.length = length

    def __len__(self):
        return len(self.series) - self.length

    def __getitem__(self, i):
        return self.series[i:i + self.length], self.series[i + self.length]


torch.manual_seed(0)
series = torch.sin(torch.arange(0, 40, 0.1))
data = WindowDataset(series, 16)
loader = DataLoader(data, batch_size=32, shuffle=True)
model = nn.Sequential(nn.Linear(16, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

for epoch in range(6):
    for window, target in loader:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(window).squeeze(1), target)
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
