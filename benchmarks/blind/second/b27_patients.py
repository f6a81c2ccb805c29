import numpy as np
import torch
import torch.nn as nn


class Scaler:
    def fit(self, x):
        self.mu = x.mean(0)
        self.sd = x.std(0)
        return self

    def transform(self, x):
        return (x - self.mu) / self.sd

    def fit_transform(self, x):
        return self.fit(x).transform(x)


def load_patients(n, rng, site):
    """site B measures patients that are on average older and heavier"""
    shift = {"A": 0.0, "B": 1.3}[site]
    age = 50 + 12 * (rng.standard_normal(n) + shift)
    bmi = 26 + 4 * (rng.standard_normal(n) + shift)
    bp = 125 + 15 * rng.standard_normal(n) + 0.5 * (age - 50)
    sugar = 95 + 18 * (rng.standard_normal(n) + 0.5 * shift)
    risk = 0.05 * (age - 50) + 0.12 * (bmi - 26) + 0.02 * (bp - 125) + 0.03 * (sugar - 95)
    y = risk + 0.2 * np.sin(age / 6) + 0.1 * rng.standard_normal(n)
    return np.stack([age, bmi, bp, sugar], 1), y


def as_tensors(x, y):
    return torch.tensor(x, dtype=torch.float32), torch.tensor(y, dtype=torch.float32).unsqueeze(1)


class Trainer:
    def __init__(self, seed=0):
        torch.manual_seed(seed)
        self.rng = np.random.default_rng(seed)
        self.model = nn.Sequential(nn.Linear(4, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 1))
        self.opt = torch.optim.Adam(self.model.parameters(), lr=2e-3)
        self.loss_fn = nn.MSELoss()
        self.prepare()

    def prepare(self):
        xa, ya = load_patients(1200, self.rng, "A")
        xb, yb = load_patients(1200, self.rng, "B")
        xt, yt = load_patients(500, self.rng, "B")
        x, y = np.concatenate([xa, xb]), np.concatenate([ya, yb])
        sc = Scaler()
        self.x, self.y = as_tensors(sc.fit_transform(x), y)
        self.xv, self.yv = as_tensors(sc.fit_transform(xt), yt)

    def epoch(self, bs=60):
        losses = []
        for idx in torch.randperm(len(self.x)).split(bs):
            self.opt.zero_grad()
            loss = self.loss_fn(self.model(self.x[idx]), self.y[idx])
            loss.backward()
            self.opt.step()
            losses.append(loss.item())
        return float(np.mean(losses))

    def validate(self):
        with torch.no_grad():
            return self.loss_fn(self.model(self.xv), self.yv).item()


t = Trainer()
for e in range(8):
    print(f"epoch {e} train mse {t.epoch():.4f} val mse {t.validate():.4f}")
