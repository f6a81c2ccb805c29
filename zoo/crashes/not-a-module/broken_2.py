"""Small convolutional classifier in one expression."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
net = nn.Sequential(
    nn.Conv2d(1, 8, 3, padding=1),
    F.relu,
    nn.MaxPool2d(2),
    nn.Flatten(),
    nn.Linear(8 * 16, 2),
)
optimizer = torch.optim.Adam(net.parameters(), lr=0.005)
for step in range(60):
    y = torch.randint(0, 2, (32,))
    x = torch.randn(32, 1, 8, 8)
    x[:, :, :, 3] += 2.0 * y[:, None, None]
    loss = F.cross_entropy(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(step, loss.item())
