"""Two stages with one optimizer: the head first, on detached features, then everything."""
import torch
from torch import nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(12, 48), nn.ReLU(), nn.Linear(48, 24), nn.ReLU())
        self.head = nn.Linear(24, 5)
        self.warming_up = True

    def forward(self, x):
        features = self.encoder(x)
        if self.warming_up:
            features = features.detach()
        return self.head(features)


torch.manual_seed(7)
net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
centers = torch.randn(5, 12)
for step in range(300):
    net.warming_up = step < 60
    labels = torch.randint(0, 5, (32,))
    loss = F.cross_entropy(net(centers[labels] + torch.randn(32, 12)), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 60 == 0:
        print(step, round(loss.item(), 4))
