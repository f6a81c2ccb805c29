import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(17)

IN, CLASSES = 60, 10
ACCUM = 16
MICRO = 2
LR = 0.15

centers = torch.randn(CLASSES, IN) * 0.55


def draw(n):
    y = torch.randint(0, CLASSES, (n,))
    return centers[y] + torch.randn(n, IN), y


X, Y = draw(4096)
Xv, Yv = draw(1500)

model = nn.Sequential(nn.Linear(IN, 64), nn.Tanh(), nn.Linear(64, CLASSES))
opt = torch.optim.SGD(model.parameters(), lr=LR)


def micro_batches(x, y, size):
    order = torch.randperm(len(x))
    for i in range(0, len(order), size):
        j = order[i:i + size]
        yield x[j], y[j]


updates = 0
for epoch in range(2):
    window = 0.0
    for i, (xb, yb) in enumerate(micro_batches(X, Y, MICRO)):
        opt.zero_grad()
        loss = F.cross_entropy(model(xb), yb) / ACCUM
        loss.backward()
        window += loss.item()
        if (i + 1) % ACCUM == 0:
            opt.step()
            updates += 1
            if updates % 32 == 0:
                print(f"update {updates:4d}  loss {window:.4f}")
            window = 0.0
    with torch.no_grad():
        pv = model(Xv)
        print(f"epoch {epoch}: val loss {F.cross_entropy(pv, Yv):.4f} acc {(pv.argmax(1) == Yv).float().mean():.4f}")
