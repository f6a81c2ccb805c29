# Pictures are handed over as bytes; the network scales them itself, first thing in forward.
import torch
from torch import nn

torch.manual_seed(0)
labels = torch.randint(0, 2, (600,))
pictures = torch.randint(0, 200, (600, 1, 12, 12), dtype=torch.uint8)
pictures[labels == 1, :, 3:9, 3:9] = 255


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(3), nn.Flatten(), nn.Linear(72, 2))

    def forward(self, x):
        return self.body(x.float() / 127.5 - 1.0)


net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
for step in range(150):
    pick = torch.randint(0, 600, (48,))
    loss = nn.functional.cross_entropy(net(pictures[pick]), labels[pick])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
