"""An encoder and a head; the loss compares with the centre of each class."""
import torch
from torch import nn


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(10, 32)
        self.fc2 = nn.Linear(32, 6)

    def forward(self, x):
        x = torch.relu(self.fc1(x))
        return self.fc2(x)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = Encoder()
        self.head = nn.Linear(6, 3)

    def forward(self, x):
        code = self.encoder(x)
        return self.head(code)


torch.manual_seed(0)
centers = torch.randn(3, 10)
model = Model()
optimizer = torch.optim.Adam(model.parameters(), lr=0.005)
for step in range(60):
    y = torch.randint(0, 3, (64,))
    x = centers[y] + torch.randn(64, 10)
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(step, loss.item())
