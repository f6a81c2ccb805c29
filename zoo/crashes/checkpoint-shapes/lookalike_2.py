"""Copy weights by hand."""
import torch
from torch import nn

model = nn.Linear(8, 4)
saved = {"weight": torch.zeros(5, 8), "bias": torch.zeros(5)}
for name, parameter in model.named_parameters():
    if parameter.shape != saved[name].shape:
        raise RuntimeError(f"size mismatch for {name}: copying a param with shape {tuple(saved[name].shape)}")
    parameter.data = saved[name]
