import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, IterableDataset


class CurveStream(IterableDataset):
    """noisy random curves; the target is the pair (frequency, decay) that generated the curve"""

    def __init__(self, per_epoch, seed):
        self.per_epoch = per_epoch
        self.seed = seed
        self.t = np.linspace(0, 3, 48)

    def __iter__(self):
        rng = np.random.RandomState(self.seed)
        for _ in range(self.per_epoch):
            f = rng.uniform(0.5, 3.0)
            d = rng.uniform(0.1, 1.5)
            ph = rng.uniform(0, 2 * np.pi)
            curve = np.exp(-d * self.t) * np.sin(2 * np.pi * f * self.t + ph) + 0.1 * rng.randn(48)
            target = np.array([(f - 1.75) / 0.72, (d - 0.8) / 0.4])
            yield torch.tensor(curve, dtype=torch.float32), torch.tensor(target, dtype=torch.float32)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(48, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 2))

    def forward(self, x):
        return self.f(x)


def main():
    torch.manual_seed(0)
    train = DataLoader(CurveStream(per_epoch=160, seed=10), batch_size=32)
    held = list(DataLoader(CurveStream(per_epoch=500, seed=77), batch_size=250))
    net = Net()
    opt = torch.optim.Adam(net.parameters(), lr=2e-3)
    for epoch in range(70):
        s = 0.0
        for i, (x, y) in enumerate(train):
            loss = nn.functional.mse_loss(net(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            s += loss.item()
        if epoch % 10 == 9:
            with torch.no_grad():
                v = sum(nn.functional.mse_loss(net(x), y).item() for x, y in held) / len(held)
            print(f"epoch {epoch + 1}  train {s / (i + 1):.4f}  held-out {v:.4f}")


main()
