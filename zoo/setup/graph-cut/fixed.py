"""Classify short time series with a convolutional encoder and a linear head."""
import torch
from torch import nn
import torch.nn.functional as F


class Encoder(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.conv1 = nn.Conv1d(1, width, 5, stride=2)
        self.conv2 = nn.Conv1d(width, width, 5, stride=2)

    def forward(self, series):
        hidden = F.relu(self.conv1(series.unsqueeze(1)))
        return F.relu(self.conv2(hidden)).mean(dim=2)


class Classifier(nn.Module):
    def __init__(self, classes, width=16):
        super().__init__()
        self.encoder = Encoder(width)
        self.head = nn.Linear(width, classes)

    def forward(self, series):
        code = self.encoder(series)
        return self.head(code)


def batch(n, classes=4, length=48):
    labels = torch.randint(0, classes, (n,))
    time = torch.arange(length) / length
    phase = 6.28 * torch.rand(n, 1)
    return torch.sin(6.28 * (1 + labels[:, None]) * time + phase) + 0.2 * torch.randn(n, length), labels


torch.manual_seed(0)
model = Classifier(4)
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(250):
    series, labels = batch(32)
    loss = F.cross_entropy(model(series), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(f"{step}: {loss.item():.4f}")
