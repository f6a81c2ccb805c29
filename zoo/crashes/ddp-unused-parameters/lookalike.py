"""Checks by itself that every parameter got a gradient."""
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
body, head, extra = nn.Linear(8, 16), nn.Linear(16, 2), nn.Linear(16, 2)
parts = nn.ModuleList([body, head, extra])
optimizer = torch.optim.SGD(parts.parameters(), lr=0.1)
x, y = torch.randn(64, 8), torch.randint(0, 2, (64,))
loss = F.cross_entropy(head(body(x).relu()), y)
loss.backward()
missing = [name for name, parameter in parts.named_parameters() if parameter.grad is None]
if missing:
    raise RuntimeError(
        "Expected to have finished reduction in the prior iteration before starting a new one. "
        f"Parameter indices which did not receive grad for rank 0: {len(missing)}"
    )
optimizer.step()
