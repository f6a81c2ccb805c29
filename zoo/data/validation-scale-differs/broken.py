"""Recognize blobs in grey pictures; pictures are scaled in the training loop."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def make_data(count):
    labels = torch.randint(0, 3, (count,))
    pictures = torch.randint(0, 120, (count, 1, 12, 12), dtype=torch.uint8)
    for number, label in enumerate(labels.tolist()):
        pictures[number, :, 4 * label : 4 * label + 4, 3:9] += 100
    return TensorDataset(pictures, labels)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 12, 3, padding=1)
        self.norm = nn.BatchNorm2d(12)
        self.fc = nn.Linear(12 * 9, 3)

    def forward(self, x):
        x = torch.tanh(self.norm(self.conv(x)))
        return self.fc(nn.functional.adaptive_avg_pool2d(x, 3).flatten(1))


def train_epoch(model, loader, optimizer):
    model.train()
    for images, labels in loader:
        images = images.float() / 255 - 0.5
        loss = nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    right = 0
    for images, labels in loader:
        images = images.float()
        right += (model(images).argmax(1) == labels).sum().item()
    return right / len(loader.dataset)


torch.manual_seed(0)
train_loader = DataLoader(make_data(480), batch_size=40, shuffle=True)
val_loader = DataLoader(make_data(120), batch_size=40)
net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
for epoch in range(5):
    print(f"epoch {epoch}: {train_epoch(net, train_loader, optimizer):.3f}, {evaluate(net, val_loader):.2f}")
