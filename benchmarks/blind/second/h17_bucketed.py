"""Sentences sorted by length and cut into buckets; bucket order is shuffled, rows are not. Time-major attention pooling."""
import random
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

random.seed(3)
torch.manual_seed(3)
V = 40
CUE = {1: 0, 2: 1, 3: 2}


class Reviews(Dataset):
    def __init__(self, n):
        rows = []
        for _ in range(n):
            L = random.randint(4, 24)
            s = [random.randint(4, V - 1) for _ in range(L)]
            c = random.choice([1, 2, 3])
            s[random.randrange(L)] = c
            rows.append((s, CUE[c]))
        self.rows = sorted(rows, key=lambda r: len(r[0]))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


class BucketSampler:
    def __init__(self, n, bs):
        self.buckets = [list(range(i, min(n, i + bs))) for i in range(0, n, bs)]

    def __iter__(self):
        order = list(range(len(self.buckets)))
        random.shuffle(order)
        return (self.buckets[k] for k in order)

    def __len__(self):
        return len(self.buckets)


def collate(rows):
    T = max(len(s) for s, _ in rows)
    x = torch.zeros(T, len(rows), dtype=torch.long)
    for j, (s, _) in enumerate(rows):
        x[:len(s), j] = torch.tensor(s)
    return x, torch.tensor([y for _, y in rows])


class Pooler(nn.Module):
    def __init__(self, d=24):
        super().__init__()
        self.emb = nn.Embedding(V, d, padding_idx=0)
        self.gru = nn.GRU(d, d)
        self.score = nn.Linear(d, 1)
        self.out = nn.Linear(d, 3)

    def forward(self, x):
        h, _ = self.gru(self.emb(x))                                  # T, B, d
        s = self.score(h).squeeze(-1).masked_fill(x == 0, float("-inf"))
        a = F.softmax(s, dim=0)
        return self.out((a.unsqueeze(-1) * h).sum(0))


ds, dv = Reviews(1600), Reviews(400)
train = DataLoader(ds, batch_sampler=BucketSampler(len(ds), 32), collate_fn=collate)
val = DataLoader(dv, batch_size=100, shuffle=False, collate_fn=collate)
net = Pooler()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for epoch in range(5):
    net.train()
    tot = 0.0
    for x, y in train:
        loss = F.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        tot += loss.item()
    net.eval()
    with torch.no_grad():
        hit = sum((net(x).argmax(1) == y).sum().item() for x, y in val)
    print(f"epoch {epoch} loss {tot / len(train):.4f} val acc {hit / len(dv):.3f}")
