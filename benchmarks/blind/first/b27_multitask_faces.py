import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


def generate(n, seed):
    r = np.random.RandomState(seed)
    age = r.uniform(-1, 1, n)
    gender = r.randint(0, 2, n)
    basis = np.random.RandomState(0).randn(3, 40)
    x = np.outer(age, basis[0]) + np.outer(gender - 0.5, basis[1]) + np.outer(age * gender, basis[2])
    x = x + 0.6 * r.randn(n, 40)
    return x, np.stack([age, gender], axis=1)


def minibatches(x, y, size, rng):
    rng.shuffle(x)
    for i in range(0, len(x), size):
        yield (torch.tensor(x[i:i + size], dtype=torch.float32),
               torch.tensor(y[i:i + size], dtype=torch.float32))


class TwoHeads(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(40, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU())
        self.age = nn.Linear(32, 1)
        self.gender = nn.Linear(32, 1)

    def forward(self, x):
        h = self.trunk(x)
        return self.age(h).squeeze(1), self.gender(h).squeeze(1)


def losses(model, x, y):
    a, g = model(x)
    return F.mse_loss(a, y[:, 0]), F.binary_cross_entropy_with_logits(g, y[:, 1]), g


torch.manual_seed(2)
rng = np.random.RandomState(2)
x_train, y_train = generate(2000, 1)
x_val, y_val = generate(500, 2)
mu, sd = x_train.mean(0), x_train.std(0)
x_train, x_val = (x_train - mu) / sd, (x_val - mu) / sd
x_val = torch.tensor(x_val, dtype=torch.float32)
y_val = torch.tensor(y_val, dtype=torch.float32)

model = TwoHeads()
opt = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=1e-5)
for epoch in range(8):
    model.train()
    tot = 0.0
    for x, y in minibatches(x_train, y_train, 50, rng):
        la, lg, _ = losses(model, x, y)
        loss = la + lg
        opt.zero_grad()
        loss.backward()
        opt.step()
        tot += loss.item() * len(x)
    model.eval()
    with torch.no_grad():
        la, lg, g = losses(model, x_val, y_val)
    acc = ((g > 0).float() == y_val[:, 1]).float().mean()
    print(f"epoch {epoch}: train {tot / len(x_train):.4f} val age mse {la:.4f} gender bce {lg:.4f} acc {acc:.3f}")
