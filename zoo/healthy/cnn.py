"""Small CNN on 16x16 pictures of bars, crosses and rings."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1)
        self.conv2 = nn.Conv2d(8, 16, 3, padding=1)
        self.fc1 = nn.Linear(16 * 4 * 4, 32)
        self.fc2 = nn.Linear(32, 3)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.fc2(F.relu(self.fc1(x.flatten(1))))


def pictures(n):
    y = torch.randint(0, 3, (n,))
    r, c = torch.meshgrid(torch.arange(16), torch.arange(16), indexing="ij")
    cy, cx = torch.randint(5, 11, (2, n, 1, 1))
    dr, dc = (r - cy).abs(), (c - cx).abs()
    bar = dr < 2
    cross = (dr < 1) | (dc < 1)
    ring = (dr**2 + dc**2 - 16).abs() < 6
    shapes = torch.stack([bar, cross, ring]).float()
    return (shapes[y, torch.arange(n)] + 0.3 * torch.randn(n, 16, 16)).unsqueeze(1), y


torch.manual_seed(0)
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
criterion = nn.CrossEntropyLoss()
for i in range(151):
    images, labels = pictures(32)
    optimizer.zero_grad()
    loss = criterion(net(images), labels)
    loss.backward()
    optimizer.step()
    if i % 25 == 0:
        print(f"[{i:3d}] loss: {loss.item():.3f}")
