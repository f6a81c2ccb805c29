# Reads lines of numbers from one text file in spawned workers.

import os
import tempfile

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class Lines(Dataset):
    def __init__(self, path, count):
        self.file = open(path)
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        self.file.seek(0)
        for _ in range(index):
            self.file.readline()
        numbers = [float(text) for text in self.file.readline().split()]
        return torch.tensor(numbers[:-1]), torch.tensor(numbers[-1:])


def main():
    torch.manual_seed(0)
    x = torch.randn(48, 3)
    y = x @ torch.tensor([[1.0], [-2.0], [0.5]])
    path = os.path.join(tempfile.mkdtemp(), "table.txt")
    with open(path, "w") as table:
        for row in torch.cat([x, y], dim=1).tolist():
            table.write(" ".join(str(number) for number in row) + "\n")
    loader = DataLoader(Lines(path, 48), batch_size=12, num_workers=1, multiprocessing_context="spawn")
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(2):
        for features, target in loader:
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(features), target)
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch} loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
