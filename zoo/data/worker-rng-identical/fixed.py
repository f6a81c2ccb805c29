"""Finds the brighter half of small noisy patches; every patch gets fresh noise and a random shift."""

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Patches(Dataset):
    def __init__(self, count, size=8, seed=0):
        rng = np.random.default_rng(seed)
        self.side = rng.integers(0, 2, count)
        self.images = rng.normal(0.0, 0.3, (count, size, size)).astype("float32")
        half = size // 2
        for image, side in zip(self.images, self.side):
            image[:, side * half : (side + 1) * half] += 0.5
        self.noise = np.random.default_rng(seed + 1)

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        image = np.roll(self.images[index], self.noise.integers(0, 4), axis=0)
        image = image + self.noise.normal(0.0, 0.3, image.shape)
        return torch.tensor(image, dtype=torch.float32), int(self.side[index])


def seed_worker(worker):
    dataset = torch.utils.data.get_worker_info().dataset
    dataset.noise = np.random.default_rng(torch.initial_seed())


def main():
    torch.manual_seed(1)
    loader = DataLoader(Patches(512), batch_size=32, shuffle=True, num_workers=2, worker_init_fn=seed_worker)
    model = nn.Sequential(nn.Flatten(), nn.Linear(64, 16), nn.ReLU(), nn.Linear(16, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(3):
        total = 0.0
        for images, sides in loader:
            loss = nn.functional.cross_entropy(model(images), sides)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch}: loss {total / len(loader):.4f}")


if __name__ == "__main__":
    main()
