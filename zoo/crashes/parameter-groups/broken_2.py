"""Fine-tuning with a higher learning rate for the new head."""
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(8, 32), nn.ReLU())
        self.head = nn.Linear(32, 3)

    def forward(self, x):
        return self.head(self.body(x))


torch.manual_seed(0)
net = Net()
optimizer = torch.optim.SGD([
    {"params": net.parameters()},
    {"params": net.head.parameters(), "lr": 0.1},
], lr=0.02, momentum=0.9)
centers = torch.randn(3, 8)
for step in range(60):
    y = torch.randint(0, 3, (64,))
    x = centers[y] + torch.randn(64, 8)
    loss = nn.functional.cross_entropy(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(step, loss.item())
