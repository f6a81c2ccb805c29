import copy

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class ModelEMA:
    """Exponential moving average of the weights, used for evaluation."""

    def __init__(self, model, decay=0.95):
        self.module = copy.deepcopy(model).eval()
        self.decay = decay
        for p in self.module.parameters():
            p.requires_grad_(False)

    @torch.no_grad()
    def update(self, model):
        for e, p in zip(self.module.parameters(), model.parameters()):
            e.mul_(self.decay).add_(p, alpha=1 - self.decay)
        for e, b in zip(self.module.buffers(), model.buffers()):
            e.copy_(b)


class Callback:
    def on_batch_end(self, model):
        pass

    def on_epoch_end(self, model, epoch):
        pass


class EMACallback(Callback):
    def __init__(self, ema):
        self.ema = ema

    def on_train_batch_end(self, model):
        self.ema.update(model)


class LogCallback(Callback):
    def __init__(self, ema, x, y):
        self.ema, self.x, self.y = ema, x, y

    def on_epoch_end(self, model, epoch):
        with torch.no_grad():
            out = self.ema.module(self.x)
        loss = nn.functional.cross_entropy(out, self.y)
        acc = (out.argmax(1) == self.y).float().mean()
        print(f"epoch {epoch}: val loss {loss:.4f} acc {acc:.3f}")


def fit(model, loader, optimizer, epochs, callbacks):
    for epoch in range(epochs):
        model.train()
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            for cb in callbacks:
                cb.on_batch_end(model)
        for cb in callbacks:
            cb.on_epoch_end(model, epoch)


def rings(n, seed):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, 3, (n,), generator=g)
    r = 0.6 + 0.6 * y + 0.12 * torch.randn(n, generator=g)
    t = 2 * torch.pi * torch.rand(n, generator=g)
    return torch.stack([r * t.cos(), r * t.sin()], 1), y


torch.manual_seed(1)
loader = DataLoader(TensorDataset(*rings(1500, 0)), batch_size=50, shuffle=True)
x_val, y_val = rings(500, 1)
model = nn.Sequential(nn.Linear(2, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 3))
ema = ModelEMA(model)
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
fit(model, loader, optimizer, 7, [EMACallback(ema), LogCallback(ema, x_val, y_val)])
