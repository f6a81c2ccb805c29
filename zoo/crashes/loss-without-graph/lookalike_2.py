"""A check before backward, written by hand."""
import torch
import torch.nn as nn

torch.manual_seed(0)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(32, 4), torch.randn(32, 1)
for step in range(5):
    loss = (model(x).detach() - y).pow(2).mean()
    if loss.grad_fn is None:
        raise RuntimeError("element 0 of tensors does not require grad and does not have a grad_fn")
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
