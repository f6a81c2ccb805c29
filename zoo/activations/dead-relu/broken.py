"""Classify wine-like samples; weights are initialised by our own function."""
import torch
import torch.nn as nn


def init_weights(module):
    if isinstance(module, nn.Linear):
        nn.init.normal_(module.weight, std=0.1)
        nn.init.constant_(module.bias, -2.0)


class WineNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(13, 64)
        self.act1 = nn.ReLU()
        self.fc2 = nn.Linear(64, 32)
        self.act2 = nn.ReLU()
        self.fc3 = nn.Linear(32, 3)
        self.apply(init_weights)

    def forward(self, x):
        x = self.act1(self.fc1(x))
        x = self.act2(self.fc2(x))
        return self.fc3(x)


torch.manual_seed(0)
centers = torch.randn(3, 13)
model = WineNet()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for step in range(300):
    y = torch.randint(0, 3, (64,))
    x = centers[y] + torch.randn(64, 13)
    loss = criterion(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(f"step {step}, loss {loss.item():.4f}")
