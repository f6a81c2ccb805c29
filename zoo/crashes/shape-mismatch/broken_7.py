"""Colour patches as a camera library delivers them: uint8 arrays."""
import numpy as np
import torch
from torch import nn


def read_frames(rng, labels):
    base = np.array([[200, 40, 40], [40, 200, 40], [40, 40, 200]])
    frames = base[labels][:, None, None, :] + rng.normal(0, 40, size=(len(labels), 24, 24, 3))
    return frames.clip(0, 255).astype(np.uint8)


class ColourNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 8, 5, stride=2)
        self.conv2 = nn.Conv2d(8, 16, 3, stride=2)
        self.fc = nn.Linear(16, 3)

    def forward(self, x):
        x = torch.relu(self.conv1(x))
        x = torch.relu(self.conv2(x))
        return self.fc(x.mean(dim=(2, 3)))


def main():
    rng = np.random.default_rng(1)
    torch.manual_seed(1)
    model, criterion = ColourNet(), nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for step in range(60):
        kinds = rng.integers(0, 3, size=32)
        images = torch.from_numpy(read_frames(rng, kinds)).float() / 255
        labels = torch.from_numpy(kinds)
        loss = criterion(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(step, round(loss.item(), 4))


main()
