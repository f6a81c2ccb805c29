"""A compiled network whose last layer was built for another width."""
import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(16, 32)
        self.out = nn.Linear(64, 3)

    def forward(self, x):
        return self.out(F.relu(self.hidden(x)))


torch.manual_seed(0)
x, y = torch.randn(64, 16), torch.randint(0, 3, (64,))
model = torch.compile(Net(), backend="eager")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(10):
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
