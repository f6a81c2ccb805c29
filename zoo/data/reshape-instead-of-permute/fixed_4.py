# Photographs come as bytes with channels last, are scaled, and go through a small CNN.
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Photos(Dataset):
    def __init__(self, n, seed):
        rng = np.random.default_rng(seed)
        self.labels = rng.integers(0, 4, n)
        self.pixels = rng.integers(0, 90, (n, 14, 14, 3)).astype(np.uint8)
        for picture, label in zip(self.pixels, self.labels):
            row, column = rng.integers(0, 8, 2)
            if label % 2:
                picture[row : row + 6, column, label // 2] += 120
            else:
                picture[row, column : column + 6, label // 2] += 120

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        picture = torch.tensor(self.pixels[index]).permute(2, 0, 1).float()
        return picture / 128 - 0.4, int(self.labels[index])


torch.manual_seed(0)
loader = DataLoader(Photos(800, seed=1), batch_size=40, shuffle=True)
cnn = nn.Sequential(
    nn.Conv2d(3, 16, 5, padding=2), nn.ReLU(), nn.Conv2d(16, 16, 3, padding=1), nn.ReLU(),
    nn.AdaptiveMaxPool2d(1), nn.Flatten(), nn.Linear(16, 4),
)
optimizer = torch.optim.Adam(cnn.parameters(), lr=3e-3)
for epoch in range(6):
    total = 0.0
    for pictures, labels in loader:
        loss = nn.functional.cross_entropy(cnn(pictures), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch}: {total / len(loader):.3f}")
