# Forecasts the next value of a series from the last twelve.
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)
HISTORY = 12


class Series(Dataset):
    def __init__(self, values):
        self.values = values

    def __len__(self):
        return len(self.values) - 12

    def __getitem__(self, index):
        return self.values[index:index + HISTORY], self.values[index + HISTORY]


time = torch.arange(0, 40, 0.1)
dataset = Series(torch.sin(time) + 0.05 * torch.randn(len(time)))
loader = DataLoader(dataset, batch_size=32, shuffle=True)
model = nn.Sequential(nn.Linear(HISTORY, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(8):
    for past, following in loader:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(past).squeeze(1), following)
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.4f}")
