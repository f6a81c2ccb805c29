# Normalises inputs in spawned workers.

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class Points(Dataset):
    def __init__(self, points, labels, transform):
        self.points = points
        self.labels = labels
        self.transform = transform

    def __len__(self):
        return len(self.points)

    def __getitem__(self, index):
        return self.transform(self.points[index]), self.labels[index]


def main():
    torch.manual_seed(0)
    labels = torch.randint(0, 2, (96,))
    points = 5 + torch.randn(96, 8) + 2 * labels[:, None]
    dataset = Points(points, labels, transform=lambda point: (point - 6) / 2)
    loader = DataLoader(dataset, batch_size=24, num_workers=1, multiprocessing_context="spawn")
    model = nn.Linear(8, 2)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-2)
    for epoch in range(3):
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch} loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
