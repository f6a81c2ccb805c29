# Sanity check before a long run: can the network fit one single batch?
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
images = torch.randn(320, 1, 8, 8)
classes = torch.randint(0, 5, (320,))
loader = DataLoader(TensorDataset(images, classes), batch_size=32, shuffle=True)

net = nn.Sequential(
    nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(256, 64), nn.ReLU(), nn.Linear(64, 5)
)
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
x, y = next(iter(loader))
for step in range(120):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(net(x), y)
    loss.backward()
    optimizer.step()
print(f"one batch fitted to {loss.item():.4f}")

for x, y in loader:
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(net(x), y)
    loss.backward()
    optimizer.step()
print(f"after one epoch {loss.item():.4f}")
