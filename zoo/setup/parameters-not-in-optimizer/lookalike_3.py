"""Features from an untouched extractor under no_grad, a classifier trained on top."""
import torch
import torch.nn.functional as F
from torch import nn


class Extractor(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1)
        self.conv2 = nn.Conv2d(8, 16, 3, stride=2, padding=1)

    def forward(self, x):
        return F.relu(self.conv2(F.relu(self.conv1(x)))).flatten(1)


class Probe(nn.Module):
    def __init__(self):
        super().__init__()
        self.extractor = Extractor()
        self.classifier = nn.Linear(16 * 6 * 6, 4)

    def forward(self, x):
        with torch.no_grad():
            features = self.extractor(x)
        return self.classifier(features)


torch.manual_seed(2)
templates = torch.randn(4, 1, 12, 12)
probe = Probe()
optimizer = torch.optim.Adam(probe.classifier.parameters(), lr=3e-3)
for i in range(200):
    y = torch.randint(4, (32,))
    x = templates[y] + 0.8 * torch.randn(32, 1, 12, 12)
    loss = F.cross_entropy(probe(x), y)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    if i % 40 == 0:
        print(i, loss.item())
