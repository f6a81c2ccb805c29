"""Classify four overlapping clusters with a hand-initialised network."""
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(12, 64)
        self.fc2 = nn.Linear(64, 64)
        self.fc3 = nn.Linear(64, 4)
        for layer in (self.fc1, self.fc2, self.fc3):
            nn.init.xavier_normal_(layer.weight)
            nn.init.zeros_(layer.bias)

    def forward(self, x):
        return self.fc3(torch.tanh(self.fc2(torch.tanh(self.fc1(x)))))


torch.manual_seed(0)
centers = 1.5 * torch.randn(4, 12)
net = Net()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
for step in range(300):
    y = torch.randint(0, 4, (64,))
    x = centers[y] + torch.randn(64, 12)
    optimizer.zero_grad()
    loss = criterion(net(x), y)
    loss.backward()
    optimizer.step()
    if step % 60 == 0:
        print(f"{step:4d} {loss.item():.4f}")
