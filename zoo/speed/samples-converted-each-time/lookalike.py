"""Rows come from a file on disk and have to be made into tensors as they come; the network is slow."""

import tempfile

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Table(Dataset):
    def __init__(self, path, count):
        self.rows = np.memmap(path, dtype=np.float32, mode="r", shape=(count, 128))
        self.labels = self.rows[:, :3].argmax(1).tolist()

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return torch.from_numpy(np.array(self.rows[index])), self.labels[index]


def main():
    torch.manual_seed(0)
    with tempfile.NamedTemporaryFile() as file:
        np.random.default_rng(0).standard_normal((1024, 128)).astype(np.float32).tofile(file.name)
        loader = DataLoader(Table(file.name, 1024), batch_size=32, shuffle=True)
        net = nn.Sequential(nn.Linear(128, 768), nn.ReLU(), nn.Linear(768, 768), nn.ReLU(), nn.Linear(768, 3))
        optimizer = torch.optim.Adam(net.parameters(), lr=3e-4)
        for epoch in range(5):
            for rows, labels in loader:
                optimizer.zero_grad()
                loss = nn.functional.cross_entropy(net(rows), labels)
                loss.backward()
                optimizer.step()
            print(f"epoch {epoch}: {loss.item():.4f}")


if __name__ == "__main__":
    main()
