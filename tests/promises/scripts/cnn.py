"""A convolutional net with batch norm and dropout, fed by two worker processes, trained in a function."""

import torch
from fingerprint import STEPS, finish, start
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Noise(Dataset):
    def __len__(self):
        return 8 * STEPS

    def __getitem__(self, index):
        return torch.randn(3, 12, 12), index % 5  # drawn in the worker


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Dropout2d(0.2), nn.Conv2d(8, 8, 3), nn.ReLU()
        )
        self.drop = nn.Dropout(0.5)
        self.head = nn.Linear(8, 5)

    def forward(self, x):
        return self.head(self.drop(self.features(x).mean((2, 3))))


def train():
    net = Net()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
    losses = []
    for x, y in DataLoader(Noise(), batch_size=8, shuffle=True, num_workers=2):
        optimizer.zero_grad(set_to_none=False)
        output = net(x)
        loss = criterion(output, y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return net, optimizer, output, losses


if __name__ == "__main__":
    start()
    net, optimizer, output, losses = train()
    finish([net], [optimizer], [output], losses)
