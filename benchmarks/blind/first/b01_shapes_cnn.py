import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
np.random.seed(0)

NUM_CLASSES = 10
SIZE = 12


def make_data(n, templates):
    y = torch.randint(0, NUM_CLASSES, (n,))
    x = templates[y] + 1.2 * torch.randn(n, 1, SIZE, SIZE)
    return x, y


templates = torch.randn(NUM_CLASSES, 1, SIZE // 2, SIZE // 2)
templates = nn.functional.interpolate(templates, size=(SIZE, SIZE), mode="bilinear")
x_train, y_train = make_data(1500, templates)
x_val, y_val = make_data(500, templates)
mean, std = x_train.mean(), x_train.std()
x_train, x_val = (x_train - mean) / std, (x_val - mean) / std

train_loader = DataLoader(TensorDataset(x_train, y_train), batch_size=50, shuffle=True)
val_loader = DataLoader(TensorDataset(x_val, y_val), batch_size=100)


class ConvNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1)
        self.conv2 = nn.Conv2d(8, 16, 3, padding=1)
        self.pool = nn.MaxPool2d(2)
        self.fc1 = nn.Linear(16 * 3 * 3, 48)
        self.fc2 = nn.Linear(48, NUM_CLASSES)

    def forward(self, x):
        x = self.pool(torch.relu(self.conv1(x)))
        x = self.pool(torch.relu(self.conv2(x)))
        x = x.flatten(1)
        x = torch.relu(self.fc1(x))
        return torch.softmax(self.fc2(x), dim=1)


model = ConvNet()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)

for epoch in range(6):
    model.train()
    running = 0.0
    for xb, yb in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
        running += loss.item() * xb.size(0)

    model.eval()
    correct = 0
    with torch.no_grad():
        for xb, yb in val_loader:
            correct += (model(xb).argmax(1) == yb).sum().item()
    print(f"epoch {epoch + 1}: train loss {running / len(x_train):.4f}  val acc {correct / len(x_val):.3f}")
