# Flat rows of pixels become pictures with one channel; channels of size one may stand anywhere.
import torch
from torch import nn

torch.manual_seed(0)
label = torch.randint(0, 2, (500,))
rows = torch.randn(500, 100)
rows[label == 1, 30:60] += 1.5
stacked = rows.view(500, 10, 10, 1).clone()

net = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(512, 2))
optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
for step in range(150):
    pick = torch.randint(0, 500, (32,))
    images = rows[pick].view(-1, 1, 10, 10) if step % 2 else stacked[pick].view(-1, 1, 10, 10)
    loss = nn.functional.cross_entropy(net(images), label[pick])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
