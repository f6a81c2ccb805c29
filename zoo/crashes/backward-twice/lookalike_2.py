"""A loop with a guard of its own against reusing a loss."""
import torch
import torch.nn as nn

torch.manual_seed(0)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(32, 4), torch.randn(32, 1)
seen = set()
loss = (model(x) - y).pow(2).mean()
for step in range(3):
    if id(loss) in seen:
        raise RuntimeError("Trying to backward through the graph a second time")
    seen.add(id(loss))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
