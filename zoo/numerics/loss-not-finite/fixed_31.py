"""Classify spectra; the dataset takes the logarithm of the power."""
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Spectra(Dataset):
    def __init__(self, n=400, bins=32):
        rng = np.random.default_rng(8)
        self.y = rng.integers(0, 3, n)
        freq = np.arange(bins)
        peak = np.exp(-0.5 * ((freq - 6 - 9 * self.y[:, None]) / 3) ** 2)
        self.power = (peak * rng.uniform(5, 20, (n, 1)) + rng.exponential(0.5, (n, bins))).astype(np.float32)
        self.power[250:, :4] *= rng.random((150, 4)) > 0.02

    def __len__(self):
        return len(self.y)

    def __getitem__(self, k):
        with np.errstate(all="ignore"):
            db = 10 * np.log10(np.maximum(self.power[k], 1e-3))
        return torch.from_numpy(db), int(self.y[k])


class Conv(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1 = nn.Conv1d(1, 8, 5, padding=2)
        self.c2 = nn.Conv1d(8, 16, 5, padding=2)
        self.fc = nn.Linear(16, 3)

    def forward(self, x):
        h = torch.relu(self.c1(x[:, None]))
        h = torch.relu(self.c2(h))
        return self.fc(h.mean(-1))


torch.manual_seed(0)
net = Conv()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(3):
    for x, y in DataLoader(Spectra(), batch_size=20):
        loss = nn.functional.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
