"""A classifier whose dropout rate was copied from a framework that wants the share to keep."""
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self, keep=0.9):
        super().__init__()
        self.fc1 = nn.Linear(24, 64)
        self.drop1 = nn.Dropout(1 - keep)
        self.fc2 = nn.Linear(64, 64)
        self.drop2 = nn.Dropout(1 - keep)
        self.fc3 = nn.Linear(64, 5)

    def forward(self, x):
        x = self.drop1(torch.relu(self.fc1(x)))
        x = self.drop2(torch.relu(self.fc2(x)))
        return self.fc3(x)


torch.manual_seed(0)
centers = torch.randn(5, 24)
net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
for step in range(300):
    y = torch.randint(0, 5, (64,))
    x = centers[y] + 0.5 * torch.randn(64, 24)
    loss = nn.functional.cross_entropy(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 60 == 0:
        print(step, round(loss.item(), 4))
