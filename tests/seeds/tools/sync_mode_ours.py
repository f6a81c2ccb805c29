"""A block of code, and the lines in it that would wait for a GPU."""

import torch

import torch_debugger

with torch_debugger.syncs() as seen:
    total = torch.arange(5.0).sum()
    print(total.item())
print(seen)
