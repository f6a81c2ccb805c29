"""Asks CUDA to warn of every wait, on whatever machine this is."""

import torch

torch.cuda.set_sync_debug_mode(1)
print(torch.zeros(3).sum().item())
