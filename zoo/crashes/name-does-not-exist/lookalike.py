"""Use what this version of torch has, and do without where it lacks something."""
import torch
from torch import nn

try:
    from torch.distributed import Watchdog
except ImportError:
    Watchdog = None

torch.manual_seed(0)
model = nn.Linear(4, 1)
try:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, unknown_option=True)
except TypeError:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(50):
    x = torch.randn(32, 4)
    loss = nn.functional.mse_loss(model(x).squeeze(1), x.sum(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
