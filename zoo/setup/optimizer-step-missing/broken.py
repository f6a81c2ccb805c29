"""Small convolutional classifier of bright bars: horizontal, vertical or none."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def bars(n):
    kind = torch.randint(0, 3, (n,))
    images = 0.3 * torch.rand(n, 1, 12, 12)
    for image, k in zip(images, kind):
        line = torch.randint(2, 10, ()).item()
        if k == 0:
            image[0, line] += 1
        elif k == 1:
            image[0, :, line] += 1
    return TensorDataset(images, kind)


torch.manual_seed(1)
loader = DataLoader(bars(640), batch_size=32, shuffle=True)
model = nn.Sequential(
    nn.Conv2d(1, 8, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 3)
)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

for epoch in range(5):
    total = 0.0
    for images, kinds in loader:
        optimizer.zero_grad()
        loss = criterion(model(images), kinds)
        loss.backward()
        total += loss.item()
    print(f"epoch {epoch}: {total / len(loader):.4f}")
