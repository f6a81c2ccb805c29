# A network that begins with BatchNorm takes raw bytes: the layer learns their scale at once.
import torch
from torch import nn

torch.manual_seed(1)
labels = torch.randint(0, 3, (480,))
pictures = torch.rand(480, 3, 10, 10) * 160
for channel in range(3):
    pictures[labels == channel, channel] += 80

net = nn.Sequential(
    nn.BatchNorm2d(3), nn.Conv2d(3, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(32, 3)
)
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
for step in range(120):
    pick = torch.randint(0, 480, (40,))
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(net(pictures[pick]), labels[pick])
    loss.backward()
    optimizer.step()
print(loss.item())
