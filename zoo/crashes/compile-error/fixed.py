"""A compiled multilayer perceptron that reports how many of its hidden units are in use."""
import torch
import torch.nn.functional as F
from torch import nn


class Perceptron(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(16, 32)
        self.out = nn.Linear(32, 3)

    def forward(self, x):
        h = F.relu(self.hidden(x))
        print(f"active units: {(h > 0).float().mean().item():.2f}")
        return self.out(h)


torch.manual_seed(0)
x = torch.randn(256, 16)
y = (x @ torch.randn(16, 3)).argmax(dim=1)
model = torch.compile(Perceptron(), backend="eager")
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(40):
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.3f}")
