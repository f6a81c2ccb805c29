"""A training loop that refuses to go on when its weights were touched by something else."""
import torch
import torch.nn as nn

torch.manual_seed(0)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(32, 4), torch.randn(32, 1)
for step in range(10):
    before = model.weight._version
    loss = (model(x) - y).pow(2).mean()
    if step == 5:
        with torch.no_grad():
            model.weight.clamp_(-0.5, 0.5)
    if model.weight._version != before:
        raise RuntimeError(
            "one of the variables needed for gradient computation has been modified by an inplace operation: "
            f"[torch.FloatTensor [4, 1]] is at version {model.weight._version}; expected version {before} instead."
        )
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
