"""CNN with BatchNorm and dropout, fed by a DataLoader with two worker processes."""
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Waves(Dataset):
    """Patches of waves in four directions, made on the fly."""

    def __init__(self, size):
        self.size = size

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        rng = np.random.default_rng(index)
        label = index % 4
        angle = label * np.pi / 4
        i, j = np.mgrid[0:12, 0:12]
        wave = np.sin(1.2 * (i * np.cos(angle) + j * np.sin(angle)) + rng.uniform(0, 6))
        return torch.from_numpy((wave + 0.4 * rng.normal(size=wave.shape)).astype(np.float32))[None], label


def conv_bn(c_in, c_out):
    return nn.Sequential(nn.Conv2d(c_in, c_out, 3, padding=1, bias=False), nn.BatchNorm2d(c_out), nn.ReLU(inplace=True))


def main():
    torch.manual_seed(0)
    loader = DataLoader(Waves(960), batch_size=32, shuffle=True, num_workers=2, persistent_workers=True)
    model = nn.Sequential(
        conv_bn(1, 8), nn.MaxPool2d(2), conv_bn(8, 16), nn.AdaptiveAvgPool2d(2), nn.Flatten(),
        nn.Dropout(0.25), nn.Linear(64, 4),
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(4):
        total, seen = 0.0, 0
        for images, labels in loader:
            optimizer.zero_grad()
            loss = criterion(model(images), labels)
            loss.backward()
            optimizer.step()
            total, seen = total + loss.item() * len(labels), seen + len(labels)
        print(f"epoch {epoch}: loss {total / seen:.4f}")


if __name__ == "__main__":
    main()
