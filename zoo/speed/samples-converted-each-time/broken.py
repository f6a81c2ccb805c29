"""A table kept as lists of floats; every row becomes a tensor again in every epoch."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Table(Dataset):
    def __init__(self, count, columns=1200):
        generator = torch.Generator().manual_seed(0)
        self.rows = torch.randn(count, columns, generator=generator).tolist()
        self.labels = [max(range(3), key=lambda column: row[column]) for row in self.rows]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return torch.tensor(self.rows[index], dtype=torch.float32), self.labels[index]


def main():
    torch.manual_seed(0)
    loader = DataLoader(Table(1024), batch_size=128, shuffle=True)
    net = nn.Sequential(nn.Linear(1200, 256), nn.ReLU(), nn.Linear(256, 3))
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    for epoch in range(20):
        for rows, labels in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(net(rows), labels)
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch}: {loss.item():.4f}")


if __name__ == "__main__":
    main()
