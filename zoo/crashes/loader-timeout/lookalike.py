# A clock of the script's own gives up on a slow epoch.
import time

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
loader = DataLoader(TensorDataset(torch.randn(64, 4), torch.randn(64, 1)), batch_size=8, num_workers=1, timeout=30)
model = nn.Linear(4, 1)
start = time.monotonic()
for step, (x, y) in enumerate(loader):
    nn.functional.mse_loss(model(x), y).backward()
    if step == 5:
        raise RuntimeError(f"DataLoader timed out after {time.monotonic() - start:.0f} seconds")
