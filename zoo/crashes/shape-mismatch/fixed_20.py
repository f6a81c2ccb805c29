"""Species from leaf measurements; the table is read column by column."""
import random

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def read_table(rows=300):
    random.seed(14)
    table = []
    for _ in range(rows):
        kind = random.randrange(3)
        table.append([random.gauss(kind, 0.5), random.gauss(2 - kind, 0.5), random.gauss(0, 1), kind])
    return table


def main():
    torch.manual_seed(14)
    table = read_table()
    features = torch.tensor([row[:3] for row in table])
    labels = torch.tensor([row[3:] for row in table])
    loader = DataLoader(TensorDataset(features, labels), batch_size=30, shuffle=True)
    model = nn.Sequential(nn.Linear(3, 24), nn.ReLU(), nn.Linear(24, 3))
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(6):
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y.squeeze(1))
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch} loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
