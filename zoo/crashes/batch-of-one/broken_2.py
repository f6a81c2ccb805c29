"""A small image classifier that is tried on single pictures after training."""

import torch
from torch import nn


class Classifier(nn.Module):
    def __init__(self, classes=3):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 3, padding=1), nn.ReLU()
        )
        self.head = nn.Sequential(nn.Linear(16, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, classes))

    def forward(self, image):
        return self.head(self.features(image).mean((2, 3)))


def pictures(count=96):
    label = torch.arange(count) % 3
    image = torch.randn(count, 1, 12, 12) * 0.3 + label.view(-1, 1, 1, 1)
    return image, label


def predict(model, image):
    with torch.no_grad():
        scores = model(image[None])
    return int(scores.argmax(1))


torch.manual_seed(0)
images, labels = pictures()
model = Classifier()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for step in range(30):
    picked = torch.randperm(len(images))[:32]
    loss = nn.functional.cross_entropy(model(images[picked]), labels[picked])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 9:
        print(step, round(loss.item(), 4))

print([predict(model, image) for image in images[:6]], labels[:6].tolist())
