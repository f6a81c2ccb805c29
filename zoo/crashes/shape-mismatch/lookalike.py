"""Train on a table; a row of the second file has a field too few."""
import io

import torch
from torch import nn

FIRST = "\n".join(f"{i * 0.1:.1f},{(i % 7) * 0.5:.1f},{i % 3}" for i in range(60))
SECOND = "0.3,1.5,2\n0.7,1\n0.2,0.5,1"


def load(text):
    rows = []
    for line in io.StringIO(text):
        fields = line.strip().split(",")
        rows.append([float(fields[0]), float(fields[1]), float(fields[2])])
    return torch.tensor(rows)


def main():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for name, text in (("first", FIRST), ("second", SECOND)):
        table = load(text)
        for epoch in range(100):
            loss = nn.functional.mse_loss(model(table[:, :2]), table[:, 2:])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if epoch % 20 == 0:
                print(name, epoch, f"{loss.item():.4f}")


main()
