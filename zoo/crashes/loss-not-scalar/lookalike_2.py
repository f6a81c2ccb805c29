"""A guard of its own for the shape of the loss."""
import torch
import torch.nn as nn

torch.manual_seed(0)
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    loss = model(torch.randn(8, 4)).pow(2)
    if loss.dim() > 0:
        raise RuntimeError("grad can be implicitly created only for scalar outputs")
    loss.backward()
    optimizer.step()
