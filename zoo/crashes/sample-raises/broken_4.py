# Trains on small pictures kept as files in a folder, listed in an index.
import tempfile
from pathlib import Path

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(2)
rng = np.random.default_rng(2)


class Pictures(Dataset):
    def __init__(self, folder, names, classes):
        self.folder = folder
        self.names = names
        self.classes = classes

    def __len__(self):
        return len(self.names)

    def __getitem__(self, index):
        path = self.folder / self.names[index]
        pixels = np.load(path)
        return torch.from_numpy(pixels).float() / 255, self.classes[index]


home = tempfile.TemporaryDirectory()
folder = Path(home.name)
classes = rng.integers(0, 2, 120).tolist()
names = []
for number, label in enumerate(classes):
    pixels = rng.integers(60 * label, 160 + 60 * label, (1, 8, 8)).astype(np.uint8)
    np.save(folder / f"picture_{number:03d}.npy", pixels)
    names.append(f"picture_{number + 1:03d}.npy")
loader = DataLoader(Pictures(folder, names, classes), batch_size=24, num_workers=1)
model = nn.Sequential(nn.Flatten(), nn.Linear(64, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(4):
    for pixels, label in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(pixels), label)
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.4f}")
