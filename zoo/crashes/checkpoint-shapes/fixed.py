"""Train an image classifier, and later evaluate it from its file."""
import os
import tempfile

import torch
import torch.nn.functional as F
from torch import nn


class SmallNet(nn.Module):
    def __init__(self, num_classes=10):
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 3, padding=1)
        self.fc = nn.Linear(8 * 4 * 4, num_classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv(x)), 2)
        return self.fc(x.flatten(1))


torch.manual_seed(0)
patterns = torch.randn(20, 1, 8, 8)
model = SmallNet(num_classes=20)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for step in range(80):
    labels = torch.randint(0, 20, (32,))
    loss = F.cross_entropy(model(patterns[labels] + 0.2 * torch.randn(32, 1, 8, 8)), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

with tempfile.TemporaryDirectory() as folder:
    torch.save(model.state_dict(), os.path.join(folder, "small.pt"))
    net = SmallNet(num_classes=20)
    net.load_state_dict(torch.load(os.path.join(folder, "small.pt")))
net.eval()
print("accuracy", (net(patterns).argmax(1) == torch.arange(20)).float().mean().item())
