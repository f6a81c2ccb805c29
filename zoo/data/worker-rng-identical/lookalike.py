"""Counts bright spots; the dataset's own generator is used by the main process alone, between epochs."""

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Spots(Dataset):
    def __init__(self, count):
        self.rng = np.random.default_rng(3)
        self.count = count
        self.draw()

    def draw(self):
        """New pictures for the next epoch."""
        self.labels = self.rng.integers(0, 4, self.count)
        self.images = self.rng.normal(0.0, 0.1, (self.count, 36)).astype("float32")
        for image, label in zip(self.images, self.labels):
            image[self.rng.choice(36, label, replace=False)] += 2.0

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        image = torch.from_numpy(self.images[index])
        return image + 0.05 * torch.randn(36), int(self.labels[index])


def main():
    torch.manual_seed(0)
    spots = Spots(384)
    model = nn.Sequential(nn.Linear(36, 48), nn.ReLU(), nn.Linear(48, 4))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(4):
        total = 0.0
        for images, labels in DataLoader(spots, batch_size=16, shuffle=True, num_workers=2):
            loss = nn.functional.cross_entropy(model(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch}: loss {total / 24:.4f}")
        spots.draw()


if __name__ == "__main__":
    main()
