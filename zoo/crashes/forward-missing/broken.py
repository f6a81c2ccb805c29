"""Classify noisy one-dimensional signals with a small convolutional network."""
import torch
from torch import nn


class SignalNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(1, 8, 5, padding=2)
        self.fc = nn.Linear(8 * 16, 2)

    def foward(self, x):
        x = torch.relu(self.conv(x))
        x = nn.functional.max_pool1d(x, 2)
        return self.fc(x.flatten(1))


torch.manual_seed(0)
t = torch.linspace(0, 6.28, 32)
net = SignalNet()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(net.parameters(), lr=0.005)
for step in range(60):
    labels = torch.randint(0, 2, (32,))
    signals = torch.sin(t * (1 + labels[:, None])) + 0.3 * torch.randn(32, 32)
    optimizer.zero_grad()
    loss = criterion(net(signals[:, None]), labels)
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(step, loss.item())
