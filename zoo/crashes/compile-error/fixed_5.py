"""Train a small network, then export it for deployment."""
import torch
import torch.nn.functional as F
from torch import nn


class Gate(nn.Module):
    def __init__(self):
        super().__init__()
        self.narrow = nn.Linear(8, 16)
        self.out = nn.Linear(16, 1)

    def forward(self, x):
        h = F.relu(self.narrow(x))
        h = torch.where(h.mean() > 1.0, h / h.mean(), h)
        return self.out(h)


torch.manual_seed(0)
x = torch.randn(64, 8)
y = x[:, :1] - x[:, 1:2]
model = Gate()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(40):
    loss = F.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
program = torch.export.export(model, (x,))
print(len(program.graph.nodes), "nodes")
