"""A small CNN ported from Keras, with a validation pass every epoch."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def block(inputs, outputs):
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, padding=1, bias=False),
        nn.BatchNorm2d(outputs, eps=1e-3),
        nn.ReLU(),
        nn.MaxPool2d(2),
    )


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(block(1, 12), block(12, 24))
        self.head = nn.Linear(24 * 9, 4)

    def forward(self, x):
        return self.head(self.features(x).flatten(1))


torch.manual_seed(0)
prototypes = torch.randn(4, 1, 12, 12)
labels = torch.randint(0, 4, (512,))
images = prototypes[labels] + 1.2 * torch.randn(512, 1, 12, 12)
train = DataLoader(TensorDataset(images[:384], labels[:384]), batch_size=4, shuffle=True)
model = Net()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(3):
    model.train()
    for x, y in train:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        right = (model(images[384:]).argmax(1) == labels[384:]).float().mean()
    print(f"epoch {epoch} loss {loss.item():.3f} accuracy {right:.3f}")
