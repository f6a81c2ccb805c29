# Trains on many small files that are opened once, at the start.
import os
import resource
import tempfile

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

resource.setrlimit(resource.RLIMIT_NOFILE, (200, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
torch.manual_seed(0)
home = tempfile.TemporaryDirectory()
labels = torch.randint(0, 2, (240,)).tolist()
for number, label in enumerate(labels):
    with open(os.path.join(home.name, f"{number}.txt"), "w") as file:
        file.write(" ".join(f"{value:.3f}" for value in (torch.randn(6) + label).tolist()))


class Texts(Dataset):
    def __init__(self, folder, labels):
        self.labels = labels
        self.files = []
        for number in range(len(labels)):
            self.files.append(open(os.path.join(folder, f"{number}.txt")))

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        self.files[index].seek(0)
        return torch.tensor([float(text) for text in self.files[index].read().split()]), self.labels[index]


loader = DataLoader(Texts(home.name, labels), batch_size=24, shuffle=True)
model = nn.Linear(6, 2)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-2)
for epoch in range(6):
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.4f}")
