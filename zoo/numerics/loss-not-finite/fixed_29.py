"""Matrix factorisation on a rating table."""
import numpy as np
import torch
from torch import nn

rng = np.random.default_rng(12)
USERS, ITEMS = 80, 50
u = rng.integers(0, USERS, 3000)
i = rng.integers(0, ITEMS, 3000)
taste = rng.normal(size=(USERS, 3)) @ rng.normal(size=(3, ITEMS))
r = np.clip(3 + taste[u, i], 1, 5).astype(np.float32)
r[2222] = np.nan
u, i, r = u[np.isfinite(r)], i[np.isfinite(r)], r[np.isfinite(r)]

users, items, ratings = torch.from_numpy(u), torch.from_numpy(i), torch.from_numpy(r)


class MF(nn.Module):
    def __init__(self, k=8):
        super().__init__()
        self.u = nn.Embedding(USERS, k)
        self.i = nn.Embedding(ITEMS, k)
        self.bu = nn.Embedding(USERS, 1)
        self.bi = nn.Embedding(ITEMS, 1)
        self.mean = nn.Parameter(torch.tensor(3.0))

    def forward(self, u, i):
        dot = (self.u(u) * self.i(i)).sum(1)
        return dot + self.bu(u).squeeze(1) + self.bi(i).squeeze(1) + self.mean


torch.manual_seed(1)
mf = MF()
opt = torch.optim.Adam(mf.parameters(), lr=2e-2)
for epoch in range(2):
    for start in range(0, len(ratings), 100):
        sl = slice(start, start + 100)
        pred = mf(users[sl], items[sl])
        loss = (pred - ratings[sl]).square().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
