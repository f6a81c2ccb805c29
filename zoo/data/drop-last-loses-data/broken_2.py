"""Forecast the next value of a series from windows in order of time, in a few large batches."""
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Windows(Dataset):
    def __init__(self, series, length):
        self.series, self.length = series, length

    def __len__(self):
        return len(self.series) - self.length

    def __getitem__(self, start):
        return self.series[start : start + self.length], self.series[start + self.length]


torch.manual_seed(0)
time = torch.arange(1010.0)
series = torch.where(time < 520, torch.sin(0.3 * time), torch.sin(0.9 * time)) + 0.05 * torch.randn(1010)
loader = DataLoader(Windows(series, 10), batch_size=512, drop_last=True)

model = nn.Sequential(nn.Linear(10, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(30):
    for windows, following in loader:
        loss = nn.functional.mse_loss(model(windows).squeeze(1), following)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
with torch.no_grad():
    late = torch.stack([series[start : start + 10] for start in range(600, 990)])
    error = nn.functional.mse_loss(model(late).squeeze(1), series[610:1000])
print(f"loss {loss.item():.4f}, on the second half {error.item():.4f}")
