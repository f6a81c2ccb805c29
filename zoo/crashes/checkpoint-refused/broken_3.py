"""Train a classifier, store it, and read it back for predictions."""
import os
import tempfile

import torch
from torch import nn


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 3))

    def forward(self, x):
        return self.layers(x)


torch.manual_seed(0)
centers = torch.randn(3, 5) * 2
model = Classifier()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(50):
    labels = torch.randint(0, 3, (32,))
    loss = nn.functional.cross_entropy(model(centers[labels] + torch.randn(32, 5)), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

folder = tempfile.mkdtemp()
path = os.path.join(folder, "classifier.pth")
torch.save(model, path)
model = torch.load(path)
print(model(centers).argmax(1))
