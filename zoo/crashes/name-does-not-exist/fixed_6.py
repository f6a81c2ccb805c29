"""An image classifier as a class with three layers."""
import torch
import torch.nn.functional as F
from torch import nn


class ConvNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 3, padding=1)
        self.pool = nn.MaxPool2d(2)
        self.head = nn.Linear(8 * 4 * 4, 5)

    def forward(self, x):
        x = self.pool(F.relu(self.conv(x)))
        return self.head(x.flatten(1))


torch.manual_seed(0)
patterns = torch.randn(5, 1, 8, 8)
net = ConvNet()
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
for step in range(60):
    labels = torch.randint(0, 5, (16,))
    images = patterns[labels] + 0.3 * torch.randn(16, 1, 8, 8)
    loss = F.cross_entropy(net(images), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("loss", loss.item())
