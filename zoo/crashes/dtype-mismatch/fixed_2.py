"""Flower species from petal sizes, read from a CSV text."""
import csv
import io
import random

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset


def fake_csv(rows=450):
    random.seed(1)
    sizes = [(1.4, 0.2), (4.3, 1.3), (5.5, 2.0)]
    lines = ["length,width,species"]
    for _ in range(rows):
        k = random.randrange(3)
        length, width = (random.gauss(m, 0.4) for m in sizes[k])
        lines.append(f"{length:.2f},{width:.2f},{k}")
    return "\n".join(lines)


class Flowers(Dataset):
    def __init__(self, text):
        rows = list(csv.DictReader(io.StringIO(text)))
        self.x = torch.tensor([[float(r["length"]), float(r["width"])] for r in rows])
        self.y = torch.tensor([int(r["species"]) for r in rows])

    def __len__(self):
        return len(self.y)

    def __getitem__(self, index):
        return self.x[index], self.y[index]


def main():
    torch.manual_seed(1)
    loader = DataLoader(Flowers(fake_csv()), batch_size=30, shuffle=True)
    model = nn.Sequential(nn.Linear(2, 24), nn.ReLU(), nn.Linear(24, 3))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(10):
        for x, y in loader:
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch} loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
