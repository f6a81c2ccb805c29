"""A compiled network with a graph break where one is allowed; it trains well."""
import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(16, 32)
        self.out = nn.Linear(32, 3)

    def forward(self, x):
        h = F.relu(self.hidden(x))
        if h.sum() > 1e6:
            print("large")
        return self.out(h)


torch.manual_seed(0)
x = torch.randn(256, 16)
y = (x @ torch.randn(16, 3)).argmax(dim=1)
model = torch.compile(Net(), backend="eager")
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(60):
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.3f}")
