import numpy as np
import torch
from torch import nn
from torch.utils.data import Dataset, DataLoader


class SensorDataset(Dataset):
    """windows of a 3 channel sensor; class = which of 4 patterns started the window"""

    def __init__(self, n, length=16, seed=0):
        rng = np.random.default_rng(seed)
        self.y = rng.integers(0, 4, n)
        x = rng.normal(0, 0.4, size=(n, length, 3))
        t = np.arange(6)
        for i, c in enumerate(self.y):
            wave = [np.sin(t), np.cos(t), t / 6.0, -t / 6.0][c]
            x[i, :6, c % 3] += 2.0 * wave
        self.x = x.astype(np.float32)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return torch.from_numpy(self.x[i]), int(self.y[i])


class SensorNet(nn.Module):
    def __init__(self, n_features=3, hidden=40, n_classes=4):
        super().__init__()
        self.lstm = nn.LSTM(n_features, hidden, num_layers=1)
        self.head = nn.Sequential(nn.Linear(hidden, 32), nn.ReLU(), nn.Linear(32, n_classes))

    def forward(self, x):
        # x: (batch, time, features)
        out, (h, c) = self.lstm(x)
        return self.head(out[:, -1, :])


def loop(model, loader, criterion, optimizer=None):
    model.train(optimizer is not None)
    loss_sum, hits, n = 0.0, 0, 0
    with torch.set_grad_enabled(optimizer is not None):
        for x, y in loader:
            logits = model(x)
            loss = criterion(logits, y)
            if optimizer is not None:
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(model.parameters(), 5.0)
                optimizer.step()
            loss_sum += loss.item() * len(y)
            hits += (logits.argmax(1) == y).sum().item()
            n += len(y)
    return loss_sum / n, hits / n


if __name__ == "__main__":
    torch.manual_seed(21)
    train_dl = DataLoader(SensorDataset(1600, seed=1), batch_size=40, shuffle=True)
    val_dl = DataLoader(SensorDataset(400, seed=2), batch_size=40)
    net = SensorNet()
    opt = torch.optim.Adam(net.parameters(), lr=3e-3)
    ce = nn.CrossEntropyLoss()
    for epoch in range(6):
        tl, ta = loop(net, train_dl, ce, opt)
        vl, va = loop(net, val_dl, ce)
        print(f"Epoch {epoch}: train {tl:.3f}/{ta:.3f}  val {vl:.3f}/{va:.3f}")
