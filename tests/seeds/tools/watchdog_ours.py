"""A watchdog around a training."""

from datetime import timedelta

import torch
from torch import nn

import torch_debugger

watchdog = torch_debugger.Watchdog(timeout=timedelta(minutes=2))
watchdog.start()
try:
    torch.manual_seed(1)
    rows = torch.randn(40, 3)
    net = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(10):
        loss = nn.functional.mse_loss(net(rows), rows.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
finally:
    watchdog.stop()
print("hangs:", len(watchdog.hangs))
