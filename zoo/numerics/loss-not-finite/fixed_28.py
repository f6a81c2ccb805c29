"""Tabular regression from a table read row by row."""
import csv
import io
import random
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


def make_csv(rows=640, cols=8):
    rng = random.Random(7)
    buf = io.StringIO()
    w = csv.writer(buf)
    for r in range(rows):
        vals = [rng.gauss(0, 1) for _ in range(cols)]
        y = sum(v * (i - 3) for i, v in enumerate(vals)) + rng.gauss(0, 0.1)
        cells = [f"{v:.4f}" for v in vals]
        if r == 417:
            cells[2] = "nan"
        w.writerow(cells + [f"{y:.4f}"])
    buf.seek(0)
    return buf


class Table(Dataset):
    def __init__(self, fh):
        self.rows = [[float(c) for c in row] for row in csv.reader(fh) if "nan" not in row]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        r = torch.tensor(self.rows[i])
        return r[:-1], r[-1]


torch.manual_seed(0)
loader = DataLoader(Table(make_csv()), batch_size=32)
net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.SGD(net.parameters(), lr=1e-2)
for epoch in range(3):
    for x, y in loader:
        loss = nn.functional.mse_loss(net(x).squeeze(1), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(f"epoch {epoch}: {loss.item():.4f}")
