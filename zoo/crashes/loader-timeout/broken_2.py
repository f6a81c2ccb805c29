# Waits in a worker for files that another job is writing.
import os
import tempfile
import time

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)


class Arriving(Dataset):
    def __init__(self, folder, labels):
        self.folder = folder
        self.labels = labels

    def __len__(self):
        return len(self.labels)

    def wait_for(self, path):
        for _ in range(60):
            if os.path.exists(path):
                return
            time.sleep(0.05)

    def __getitem__(self, index):
        path = os.path.join(self.folder, f"{index}.pt")
        self.wait_for(path)
        return torch.load(path), self.labels[index]


home = tempfile.TemporaryDirectory()
labels = torch.randint(0, 2, (48,))
for number, label in enumerate(labels[:40]):
    torch.save(torch.randn(8) + label, os.path.join(home.name, f"{number}.pt"))
loader = DataLoader(Arriving(home.name, labels), batch_size=8, num_workers=1, timeout=1)
model = nn.Linear(8, 2)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-2)
for epoch in range(6):
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.4f}")
