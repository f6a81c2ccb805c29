"""Functions between modules, called in forward where they belong."""
import torch
from torch import nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self, activation=F.relu):
        super().__init__()
        self.activation = activation
        self.scale = torch.tensor(2.0)
        self.first, self.second = nn.Linear(4, 24), nn.Linear(24, 1)

    def forward(self, x):
        return self.second(self.activation(self.first(x))) * self.scale


torch.manual_seed(0)
net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
for _ in range(80):
    x = torch.randn(64, 4)
    optimizer.zero_grad()
    loss = F.mse_loss(net(x), x[:, :1].abs())
    loss.backward()
    optimizer.step()
print(loss.item())
