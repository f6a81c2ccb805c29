"""Segment bright blobs in large images; only one fits into memory at a time."""
import torch
import torch.nn as nn


class Segmenter(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 12, 3, padding=1)
        self.bn1 = nn.GroupNorm(4, 12)
        self.conv2 = nn.Conv2d(12, 12, 3, padding=1)
        self.bn2 = nn.GroupNorm(4, 12)
        self.out = nn.Conv2d(12, 1, 1)

    def forward(self, x):
        x = torch.relu(self.bn1(self.conv1(x)))
        x = torch.relu(self.bn2(self.conv2(x)))
        return self.out(x)


def make_image(size=24):
    brightness = 10 ** (2 * torch.rand(1))
    image = brightness * (0.2 + torch.rand(1, 1, size, size))
    mask = torch.zeros(1, 1, size, size)
    row, column = torch.randint(2, size - 10, (2,)).tolist()
    mask[..., row : row + 8, column : column + 8] = 1
    return image * (1 + mask), mask


torch.manual_seed(0)
model = Segmenter()
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
validation = [make_image() for _ in range(10)]
for epoch in range(4):
    model.train()
    for _ in range(60):
        image, mask = make_image()
        loss = criterion(model(image), mask)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        value = sum(criterion(model(image), mask) for image, mask in validation) / len(validation)
    print(f"epoch {epoch} train {loss.item():.3f} validation {value:.3f}")
