import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader


class Standardizer:
    def fit(self, X):
        self.mean = X.mean(axis=0)
        self.std = X.std(axis=0) + 1e-8
        return self

    def transform(self, X):
        return (X - self.mean) / self.std

    def fit_transform(self, X):
        return self.fit(X).transform(X)


class ArrayDataset(Dataset):
    def __init__(self, X, y):
        self.X = torch.as_tensor(X, dtype=torch.float32)
        self.y = torch.as_tensor(y, dtype=torch.long)

    def __len__(self):
        return len(self.X)

    def __getitem__(self, i):
        return self.X[i], self.y[i]


def read_sensors(n, rng):
    """temperature (C), pressure (hPa), vibration (mm/s), rpm, current (A)"""
    fault = rng.randint(0, 3, n)
    temp = 60 + 6 * (fault == 1) + 5 * rng.randn(n)
    pressure = 1013 + 8 * rng.randn(n)
    vib = 2.5 + 1.2 * (fault == 2) + 0.6 * rng.randn(n)
    rpm = 1500 - 60 * (fault == 1) + 50 * rng.randn(n)
    cur = 12 + 1.5 * (fault == 2) + rng.randn(n)
    return np.stack([temp, pressure, vib, rpm, cur], axis=1), fault


def main():
    rng = np.random.RandomState(3)
    torch.manual_seed(3)
    X, y = read_sensors(2500, rng)
    X_train, X_val, y_train, y_val = X[:2000], X[2000:], y[:2000], y[2000:]

    scaler = Standardizer()
    X_train = scaler.fit_transform(X_train)

    train_loader = DataLoader(ArrayDataset(X_train, y_train), batch_size=64, shuffle=True)
    val_loader = DataLoader(ArrayDataset(X_val, y_val), batch_size=125)

    model = nn.Sequential(nn.Linear(5, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 3))
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

    for epoch in range(1, 8):
        model.train()
        tl, n_ok = 0.0, 0
        for xb, yb in train_loader:
            optimizer.zero_grad()
            out = model(xb)
            loss = criterion(out, yb)
            loss.backward()
            optimizer.step()
            tl += loss.item() * len(yb)
            n_ok += (out.argmax(1) == yb).sum().item()
        model.eval()
        vl, v_ok = 0.0, 0
        with torch.no_grad():
            for xb, yb in val_loader:
                out = model(xb)
                vl += criterion(out, yb).item() * len(yb)
                v_ok += (out.argmax(1) == yb).sum().item()
        print(f"epoch {epoch} train {tl / 2000:.4f}/{n_ok / 2000:.3f} val {vl / 500:.4f}/{v_ok / 500:.3f}")


if __name__ == "__main__":
    main()
