"""Lines of a text file, kept open; worker_init_fn gives each worker a handle of its own."""

import os
import tempfile

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, get_worker_info


class Lines(Dataset):
    def __init__(self, path):
        self.path = path
        self.offsets = [0]
        self.file = open(path, "rb")
        for line in self.file:
            self.offsets.append(self.offsets[-1] + len(line))

    def __len__(self):
        return len(self.offsets) - 1

    def __getitem__(self, index):
        self.file.seek(self.offsets[index])
        a, b, label = self.file.readline().split()
        return torch.tensor([float(a), float(b)]), int(label)


def reopen(worker_id):
    data = get_worker_info().dataset
    data.file = open(data.path, "rb")


def main(path):
    torch.manual_seed(0)
    with open(path, "w") as file:
        for a, b in torch.randn(1600, 2).tolist():
            file.write(f"{a:.4f} {b:.4f} {int(a + b > 0)}\n")
    loader = DataLoader(Lines(path), batch_size=16, shuffle=True, num_workers=2, worker_init_fn=reopen)
    net = nn.Linear(2, 2)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.05)
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
    print(f"{loss.item():.4f}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        main(os.path.join(folder, "lines.txt"))
