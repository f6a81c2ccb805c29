import math
from dataclasses import dataclass, field
from typing import List

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class Config:
    epochs: int = 8
    batch_size: int = 64
    lr: float = 3e-3
    hidden: int = 64
    seed: int = 1234
    log_every: int = 50


class Callback:
    def before_batch(self, t): ...
    def after_backward(self, t): ...
    def after_step(self, t): ...
    def after_epoch(self, t): ...


class GradHousekeeping(Callback):
    def after_backward(self, t):
        t.opt.zero_grad(set_to_none=False)


class GradNormRecorder(Callback):
    def __init__(self):
        self.norms = []

    def after_backward(self, t):
        sq = sum(float(p.grad.pow(2).sum()) for p in t.model.parameters() if p.grad is not None)
        self.norms.append(math.sqrt(sq))


class Printer(Callback):
    def after_step(self, t):
        if t.step % t.cfg.log_every == 0:
            print(f"[{t.step:4d}] loss={t.last_loss:.4f}")

    def after_epoch(self, t):
        print(f"epoch {t.epoch}: val rmse={t.validate():.4f}")


class Trainer:
    def __init__(self, cfg, model, train_dl, val_dl, callbacks: List[Callback]):
        self.cfg, self.model = cfg, model
        self.train_dl, self.val_dl = train_dl, val_dl
        self.cbs = callbacks
        self.opt = torch.optim.Adam(model.parameters(), lr=cfg.lr)
        self.crit = nn.MSELoss()
        self.step = 0

    def _fire(self, name):
        for cb in self.cbs:
            getattr(cb, name)(self)

    def fit(self):
        for self.epoch in range(self.cfg.epochs):
            self.model.train()
            for x, y in self.train_dl:
                self._fire("before_batch")
                loss = self.crit(self.model(x), y)
                loss.backward()
                self._fire("after_backward")
                self.opt.step()
                self.step += 1
                self.last_loss = loss.item()
                self._fire("after_step")
            self._fire("after_epoch")

    @torch.no_grad()
    def validate(self):
        self.model.eval()
        se = n = 0
        for x, y in self.val_dl:
            se += ((self.model(x) - y) ** 2).sum().item()
            n += y.numel()
        return math.sqrt(se / n)


def make_data(n, g):
    x = torch.rand(n, 6, generator=g) * 2 - 1
    y = torch.sin(3 * x[:, :1]) * x[:, 1:2] + x[:, 2:3] ** 2 - 0.5 * x[:, 3:4]
    return x, y + 0.02 * torch.randn(n, 1, generator=g)


if __name__ == "__main__":
    cfg = Config()
    torch.manual_seed(cfg.seed)
    g = torch.Generator().manual_seed(cfg.seed)
    train = TensorDataset(*make_data(3000, g))
    val = TensorDataset(*make_data(500, g))
    net = nn.Sequential(nn.Linear(6, cfg.hidden), nn.GELU(), nn.Linear(cfg.hidden, cfg.hidden), nn.GELU(),
                        nn.Linear(cfg.hidden, 1))
    rec = GradNormRecorder()
    Trainer(cfg, net,
            DataLoader(train, batch_size=cfg.batch_size, shuffle=True),
            DataLoader(val, batch_size=250),
            [rec, GradHousekeeping(), Printer()]).fit()
    print("mean grad norm", sum(rec.norms) / len(rec.norms))
