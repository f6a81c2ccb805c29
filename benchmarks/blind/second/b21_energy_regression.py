import numpy as np
import torch
import torch.nn as nn

np.random.seed(0)
torch.manual_seed(0)

# ---- data -------------------------------------------------------------
N = 2000
temp = np.random.uniform(-10, 35, N)
hour = np.random.randint(0, 24, N)
wind = np.random.gamma(2.0, 2.0, N)
load = 50 + 0.06 * (temp - 18) ** 2 + 12 * np.sin(2 * np.pi * hour / 24) - 1.5 * wind + np.random.randn(N)
feats = np.stack([temp, np.sin(2 * np.pi * hour / 24), np.cos(2 * np.pi * hour / 24), wind], 1)
feats = (feats - feats[:1600].mean(0)) / feats[:1600].std(0)
mu, sd = load[:1600].mean(), load[:1600].std()
target = (load - mu) / sd

X = torch.tensor(feats, dtype=torch.float32)
y = torch.tensor(target, dtype=torch.float32)
Xtr, ytr, Xte, yte = X[:1600], y[:1600], X[1600:], y[1600:]

# ---- model ------------------------------------------------------------
model = nn.Sequential(
    nn.Linear(4, 64),
    nn.ReLU(),
    nn.Linear(64, 32),
    nn.ReLU(),
    nn.Linear(32, 1),
)
opt = torch.optim.Adam(model.parameters(), lr=3e-3)


def rmse_loss(pred, true):
    return torch.sqrt(torch.mean((pred - true) ** 2) + 1e-8)


# ---- train ------------------------------------------------------------
for epoch in range(10):
    perm = torch.randperm(1600)
    acc = []
    for k in range(0, 1600, 40):
        b = perm[k:k + 40]
        out = model(Xtr[b])
        loss = rmse_loss(out, ytr[b])
        opt.zero_grad()
        loss.backward()
        opt.step()
        acc.append(loss.item())
    print(f"epoch {epoch}  train rmse {np.mean(acc):.4f}")

with torch.no_grad():
    p = model(Xte).numpy().ravel() * sd + mu
print("test MAE (MW):", np.abs(p - load[1600:]).mean(), " std of load:", load[1600:].std())
