"""Rows of numbers in one binary file, read row by row as they are asked for."""

import os
import tempfile

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

COLUMNS = 256
ROW_BYTES = 4 * COLUMNS


class Rows(Dataset):
    def __init__(self, path, labels):
        self.path = path
        self.labels = labels
        self.file = None

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        if self.file is None:
            self.file = open(self.path, "rb")
        self.file.seek(index * ROW_BYTES)
        raw = bytearray(self.file.read(ROW_BYTES))
        return torch.frombuffer(raw, dtype=torch.float32), self.labels[index]


def write_rows(path, count):
    labels = torch.randint(0, 3, (count,))
    rows = torch.randn(count, COLUMNS) * 0.5
    rows[torch.arange(count), labels] += 4.0
    with open(path, "wb") as file:
        file.write(rows.numpy().tobytes())
        file.write(bytes(64 * 1024))
    return labels


def main(path):
    torch.manual_seed(0)
    data = Rows(path, write_rows(path, 3000))
    loader = DataLoader(data, batch_size=20, shuffle=True, num_workers=2)
    net = nn.Linear(COLUMNS, 3)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.02)
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
    print(f"{loss.item():.4f}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        main(os.path.join(folder, "rows.bin"))
