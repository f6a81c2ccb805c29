"""Prints what the GPU's allocator holds, and our snapshot of this process."""

import torch

import torch_debugger.memory

print(f"allocated {torch.cuda.memory_allocated() / 1e6:.1f} MB")
print(f"reserved  {torch.cuda.memory_reserved() / 1e6:.1f} MB")
table = torch.zeros(500, 1000)
print(torch_debugger.memory.snapshot().stats())
