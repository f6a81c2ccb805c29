"""Multilayer perceptron whose hidden layers are kept together."""
import torch
from torch import nn


class MLP(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.hidden = nn.Sequential(*[nn.Sequential(nn.Linear(a, b), nn.ReLU()) for a, b in zip(sizes, sizes[1:])])
        self.head = nn.Linear(sizes[-1], 1)

    def forward(self, x):
        return self.head(self.hidden(x))


torch.manual_seed(0)
x = torch.rand(256, 3)
y = torch.sin(3 * x.sum(dim=1, keepdim=True))
model = MLP([3, 32, 32])
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for epoch in range(80):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
print("loss", loss.item())
