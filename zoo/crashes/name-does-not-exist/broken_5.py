"""Train with a guard against processes that hang."""
from datetime import timedelta

import torch
from torch import nn
from torch.distributed import Watchdog

torch.manual_seed(0)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
watchdog = Watchdog(timeout=timedelta(minutes=5))
watchdog.start()
for step in range(40):
    x = torch.randn(32, 4)
    loss = nn.functional.mse_loss(model(x).squeeze(1), x.sum(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
watchdog.stop()
print("loss", loss.item())
