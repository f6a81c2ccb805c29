import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

rng = np.random.default_rng(5)
torch.manual_seed(5)
D = 20


def patients(n, rate=0.12):
    y = (rng.random(n) < rate).astype(np.int64)
    x = rng.normal(size=(n, D)).astype(np.float32)
    x[y == 1, :4] += 0.7
    return x, y


def oversample(x, y):
    """Repeat the rare class until the classes are equal."""
    pos, neg = np.where(y == 1)[0], np.where(y == 0)[0]
    pos = rng.choice(pos, size=len(neg), replace=True)
    idx = np.concatenate([neg, pos])
    rng.shuffle(idx)
    return x[idx], y[idx]


def split(x, y, frac=0.8):
    order = rng.permutation(len(x))
    cut = int(frac * len(x))
    return (x[order[:cut]], y[order[:cut]]), (x[order[cut:]], y[order[cut:]])


x, y = patients(900)
x, y = oversample(x, y)
train, val = split(x, y)
clinic = patients(2000)

tensors = lambda d: tuple(torch.from_numpy(a) for a in d)
loader = DataLoader(TensorDataset(*tensors(train)), batch_size=32, shuffle=True)
val_loader = DataLoader(TensorDataset(*tensors(val)), batch_size=100)
x_new, y_new = tensors(clinic)

net = nn.Sequential(nn.Linear(D, 96), nn.ReLU(), nn.Dropout(0.1), nn.Linear(96, 48), nn.ReLU(), nn.Linear(48, 2))
opt = torch.optim.Adam(net.parameters(), lr=2e-3)

for epoch in range(1, 16):
    net.train()
    for xb, yb in loader:
        opt.zero_grad()
        F.cross_entropy(net(xb), yb).backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        outs = [(net(xb).argmax(1), yb) for xb, yb in val_loader]
        pred, lab = torch.cat([o[0] for o in outs]), torch.cat([o[1] for o in outs])
    if epoch % 3 == 0:
        rec = (pred[lab == 1] == 1).float().mean()
        print(f"epoch {epoch}: val acc {(pred == lab).float().mean():.3f} val recall {rec:.3f}")

with torch.no_grad():
    pred = net(x_new).argmax(1)
rec = (pred[y_new == 1] == 1).float().mean()
print(f"new patients: recall {rec:.3f} acc {(pred == y_new).float().mean():.3f}")
