"""Convolutional net with batch norm on made-up images, and its accuracy on held-out ones."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class SmallConvNet(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(8)
        self.conv2 = nn.Conv2d(8, 16, 3, padding=1)
        self.bn2 = nn.BatchNorm2d(16)
        self.drop = nn.Dropout(0.4)
        self.fc = nn.Linear(16, classes)

    def forward(self, x):
        x = torch.relu(self.bn1(self.conv1(x)))
        x = torch.relu(self.bn2(self.conv2(nn.functional.max_pool2d(x, 2))))
        return self.fc(self.drop(x.mean(dim=(2, 3))))


def make_images(n):
    labels = torch.arange(n) % 4
    images = 0.6 * torch.randn(n, 1, 12, 12)
    for i in range(n):
        images[i, 0, :: int(labels[i]) + 2] += 1.0
    return TensorDataset(images, labels)


def evaluate(model, loader):
    correct = total = 0
    with torch.no_grad():
        for images, labels in loader:
            correct += (model(images).argmax(1) == labels).sum().item()
            total += len(labels)
    return correct / total


torch.manual_seed(0)
train_loader = DataLoader(make_images(480), batch_size=32, shuffle=True)
test_loader = DataLoader(make_images(160), batch_size=4)
model = SmallConvNet()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(5):
    model.train()
    for images, labels in train_loader:
        loss = nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: loss {loss.item():.3f}, test accuracy {evaluate(model, test_loader):.3f}")
