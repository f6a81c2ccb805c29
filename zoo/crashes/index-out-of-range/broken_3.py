# Classify drawn digits, 8x8 pixels.
import torch
import torch.nn as nn


class DigitNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 3, padding=1)
        self.fc1 = nn.Linear(8 * 8 * 8, 64)
        self.fc2 = nn.Linear(64, 9)

    def forward(self, x):
        x = torch.relu(self.conv(x))
        x = torch.relu(self.fc1(x.flatten(1)))
        return self.fc2(x)


torch.manual_seed(7)
templates = torch.randn(10, 1, 8, 8)
net = DigitNet()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)


def train_step(images, digits):
    optimizer.zero_grad()
    loss = criterion(net(images), digits)
    loss.backward()
    optimizer.step()
    return loss.item()


for step in range(100):
    digits = torch.randint(0, 10, (32,))
    images = templates[digits] + 0.7 * torch.randn(32, 1, 8, 8)
    loss = train_step(images, digits)
    if step % 20 == 0:
        print("step", step, "loss", round(loss, 4))
