# sensor series as plain lists, turned into arrays and tensors on the fly
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class Series(Dataset):
    def __init__(self, n):
        rng = np.random.default_rng(0)
        speed = rng.uniform(1, 5, n)
        t = np.linspace(0, 6.28, 2000)
        self.series = (np.sin(speed[:, None] * t) + 0.1 * rng.standard_normal((n, 2000))).tolist()
        self.speed = speed.tolist()

    def __getitem__(self, idx):
        x = torch.from_numpy(np.array(self.series[idx], dtype=np.float32))
        y = torch.tensor([self.speed[idx]])
        return x, y

    def __len__(self):
        return len(self.series)


torch.manual_seed(0)
train_data = DataLoader(Series(800), batch_size=100, shuffle=True)
model = nn.Sequential(nn.Linear(2000, 128), nn.ReLU(), nn.Linear(128, 1))
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(24):
    for x, y in train_data:
        loss = nn.functional.mse_loss(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
print(loss.item())
