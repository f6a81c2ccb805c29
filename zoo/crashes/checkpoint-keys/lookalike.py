"""Start from the weights of a smaller network; the new layer keeps its own."""
import torch
from torch import nn

torch.manual_seed(0)
small = nn.Sequential(nn.Linear(4, 16), nn.Tanh())
model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
missing, unexpected = model.load_state_dict(small.state_dict(), strict=False)
print("new:", missing, "left out:", unexpected)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

for step in range(60):
    x = torch.randn(32, 4)
    loss = nn.functional.mse_loss(model(x).squeeze(1), x.sum(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
