# readings of sensors in a database, one query a sample
import os
import sqlite3
import tempfile

import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)


def fill(path, n):
    base = sqlite3.connect(path)
    base.execute("create table readings (id integer primary key, a real, b real, c real)")
    rows = [(k, *map(float, torch.randn(2)), 0.0) for k in range(n)]
    base.executemany("insert into readings values (?, ?, ?, ?)", [(k, a, b, a - 2 * b) for k, a, b, _ in rows])
    base.commit()
    base.close()


class Readings(Dataset):
    def __init__(self, path):
        self.path = path
        self.base = None
        counting = sqlite3.connect(path)
        self.size = counting.execute("select count(*) from readings").fetchone()[0]
        counting.close()

    def __len__(self):
        return self.size

    def __getitem__(self, i):
        if self.base is None:
            self.base = sqlite3.connect(self.path)
        a, b, c = self.base.execute("select a, b, c from readings where id = ?", (i,)).fetchone()
        return torch.tensor([a, b]), torch.tensor([c])


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "readings.db")
        fill(path, 1200)
        dl = DataLoader(Readings(path), batch_size=16, shuffle=True, num_workers=2)
        model = torch.nn.Linear(2, 1)
        opt = torch.optim.Adam(model.parameters(), lr=0.1)
        for x, y in dl:
            loss = F.mse_loss(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(loss.item())
