import numpy as np
import torch
from torch import nn
from torch.utils.data import Dataset, DataLoader

rng = np.random.RandomState(11)
torch.manual_seed(11)


class EnergyDataset(Dataset):
    """Hourly consumption of a building from weather readings."""

    def __init__(self, n, stats=None):
        temp = rng.uniform(-10, 35, n)
        wind = rng.gamma(2.0, 2.0, n)
        hour = rng.randint(0, 24, n)
        occupied = (hour > 7) & (hour < 19)
        y = 0.08 * (temp - 19) ** 2 + 1.5 * wind + 12 * occupied + rng.randn(n)
        X = np.stack([temp, wind, np.sin(hour / 24 * 2 * np.pi), np.cos(hour / 24 * 2 * np.pi), occupied], 1)
        self.stats = stats or (X.mean(0), X.std(0), y.mean(), y.std())
        mx, sx, my, sy = self.stats
        self.X = ((X - mx) / sx).astype("float32")
        self.y = ((y - my) / sy).astype("float32")

    def __len__(self):
        return len(self.X)

    def __getitem__(self, i):
        return self.X[i], self.y[i]


def huber(pred, target, delta=1.0):
    err = (pred - target).abs()
    return torch.where(err < delta, 0.5 * err ** 2, delta * (err - 0.5 * delta)).mean()


train_ds = EnergyDataset(2000)
val_ds = EnergyDataset(500, train_ds.stats)
train_dl = DataLoader(train_ds, batch_size=64, shuffle=True)
val_dl = DataLoader(val_ds, batch_size=100)

net = nn.Sequential(
    nn.Linear(5, 64), nn.ReLU(),
    nn.Linear(64, 64), nn.ReLU(),
    nn.Linear(64, 1),
)
optim = torch.optim.Adam(net.parameters(), lr=1e-3)

for epoch in range(1, 9):
    net.train()
    for X, y in train_dl:
        pred = net(X)
        loss = huber(pred, y)
        optim.zero_grad()
        loss.backward()
        optim.step()

    net.eval()
    val_loss, preds, ys = 0.0, [], []
    with torch.no_grad():
        for X, y in val_dl:
            pred = net(X)
            val_loss += huber(pred, y).item()
            preds.append(pred.flatten())
            ys.append(y)
    preds, ys = torch.cat(preds), torch.cat(ys)
    r2 = 1 - ((preds - ys) ** 2).sum() / ((ys - ys.mean()) ** 2).sum()
    print(f"epoch {epoch} val loss {val_loss / len(val_dl):.4f} R2 {r2.item():.3f}")
